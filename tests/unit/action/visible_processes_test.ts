import assert from "node:assert/strict";
import { test } from "node:test";
import { visibleProcesses } from "../../../lib/action/visible_processes.ts";

const failing = (code: string) =>
  visibleProcesses({
    findProcess() {
      throw Object.assign(new Error(`${code}: it failed`), { code });
    },
  });

test("visibleProcesses() finds nobody where the system hides a process, and keeps every other error", () => {
  assert.equal(failing("EPERM").findProcess(7), undefined);
  assert.equal(failing("EACCES").findProcess(7), undefined);
  assert.throws(() => failing("EMFILE").findProcess(7), { code: "EMFILE" });
});
