/** The shipped units as systemd's own checker sees them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CLEAN_SERVICE, CLEAN_TIMER } from "../../../lib/model/unit_file.ts";
import { NEEDS_ANALYZE, readExposure, verifyUnits } from "../../support/systemd_analyze.ts";

const FOLDER = fileURLToPath(new URL("../../../deploy/systemd/", import.meta.url));
/** The highest score of `systemd-analyze security` that is taken; 10 is a service without any restriction. */
const MOST_EXPOSURE = 1.9;

test("the units pass systemd-analyze verify", NEEDS_ANALYZE, () => {
  const texts = [CLEAN_SERVICE, CLEAN_TIMER].map((name) => [name, readFileSync(`${FOLDER}${name}`, "utf8")]);
  assert.deepEqual(verifyUnits(Object.fromEntries(texts)), { status: 0, text: "" });
});

test("the service is closed as far as it can be", NEEDS_ANALYZE, () => {
  const score = readExposure(`${FOLDER}${CLEAN_SERVICE}`);
  assert.ok(score <= MOST_EXPOSURE, `${score} is more than ${MOST_EXPOSURE}`);
});
