/** The shipped units as systemd's own checker sees them. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { CLEAN_SERVICE, CLEAN_TIMER } from "../../../lib/model/unit_file.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const FOLDER = fileURLToPath(new URL("../../../deploy/systemd/", import.meta.url));
/** The highest score of `systemd-analyze security` that is taken; 10 is a service without any restriction. */
const MOST_EXPOSURE = 1.9;
/** The first version that judges a unit file without a running systemd. */
const OFFLINE_SINCE = 250;

function analyze(...words: readonly string[]) {
  const { stdout, stderr, status, error } = spawnSync("systemd-analyze", ["--no-pager", ...words], {
    encoding: "utf8",
  });
  if (error) throw error;
  return { status, text: `${stdout}${stderr}` };
}

function needsAnalyze(since: number) {
  const { stdout } = spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" });
  const version = Number(/^systemd (\d+)/.exec(stdout ?? "")?.[1] ?? 0);
  return version >= since ? {} : { skip: `needs systemd-analyze ${since} or later` };
}

test("the units pass systemd-analyze verify", needsAnalyze(OFFLINE_SINCE), () => {
  using folder = temporaryFolder();
  const paths = [CLEAN_SERVICE, CLEAN_TIMER].map((name) => {
    // It looks whether the program is there, which it need not be on this machine.
    const text = readFileSync(`${FOLDER}${name}`, "utf8").replace("=/usr/bin/gpuctl ", "=/bin/sh ");
    return folder.write(name, text);
  });
  assert.deepEqual(analyze("verify", "--man=no", ...paths), { status: 0, text: "" });
});

test("the service is closed as far as it can be", needsAnalyze(OFFLINE_SINCE), () => {
  const { text } = analyze("security", "--offline=true", `${FOLDER}${CLEAN_SERVICE}`);
  const score = Number(/Overall exposure level for gpuctl-clean\.service: ([\d.]+)/.exec(text)?.[1]);
  assert.ok(score <= MOST_EXPOSURE, `${score} is more than ${MOST_EXPOSURE}:\n${text}`);
});
