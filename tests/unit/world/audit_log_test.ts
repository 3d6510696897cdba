import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chownSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { absent, known } from "../../../lib/core/reading.ts";
import { encodeAuditRecord } from "../../../lib/model/audit_json.ts";
import { openAuditFile } from "../../../lib/world/audit_log.ts";
import { NEEDS_ROOT } from "../../support/as_nobody.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const USER = {
  uid: process.getuid?.() ?? assert.fail(),
  runtimeDirectory: undefined,
  stateDirectory: undefined,
};
const RECORD = encodeAuditRecord({
  at: "2026-11-30T12:00:00.000Z",
  event: "intent",
  by: absent("not-asked"),
  bootId: known("boot"),
  simulated: false,
  step: { kind: "close-helper", what: "close it", isUndo: false, state: "planned" },
});

test("openAuditFile() reads what it has written, and nothing where nothing was", () => {
  using folder = temporaryFolder();
  const log = openAuditFile(join(folder.path, "audit.jsonl"), USER);
  assert.equal(log.read().ok, false);
  log.append(RECORD);
  assert.deepEqual(log.read(), known(`${JSON.stringify(RECORD)}\n`));
});

test("openAuditFile() begins a line of its own where a full disk has cut the last one short", () => {
  using folder = temporaryFolder();
  const path = folder.write("audit.jsonl", '{"schema":"gpuctl.aud');
  const log = openAuditFile(path, USER);
  log.append(RECORD);
  log.append(RECORD);
  const line = JSON.stringify(RECORD);
  assert.equal(readFileSync(path, "utf8"), `{"schema":"gpuctl.aud\n${line}\n${line}\n`);
});

test("openAuditFile() reads no pipe and no link, and does not wait for one", () => {
  using folder = temporaryFolder();
  const pipe = join(folder.path, "pipe");
  execFileSync("mkfifo", [pipe]);
  assert.deepEqual(openAuditFile(pipe, USER).read(), absent("failed", `${pipe} is no file`));
  const link = join(folder.path, "link");
  writeFileSync(join(folder.path, "real"), "x\n");
  symlinkSync(join(folder.path, "real"), link);
  assert.equal(openAuditFile(link, USER).read().ok, false);
});

test("openAuditFile() believes no record of somebody else's", NEEDS_ROOT, () => {
  using folder = temporaryFolder();
  const path = folder.write("audit.jsonl", "{}\n");
  chownSync(path, 65_534, 65_534);
  assert.deepEqual(openAuditFile(path, USER).read(), absent("failed", "it belongs to somebody else"));
});
