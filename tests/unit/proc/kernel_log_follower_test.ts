import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { absent, known } from "../../../lib/core/reading.ts";
import { readKernelLog } from "../../../lib/proc/kernel_log.ts";
import { followKernelLog } from "../../../lib/proc/kernel_log_follower.ts";

test("followKernelLog() gives nothing of what was logged before, or says why it cannot read", () => {
  using log = followKernelLog();
  const first = log.readNew();
  const whole = readKernelLog();
  assert.deepEqual(first, whole.ok ? known([]) : whole);
});

test("followKernelLog() reads on after what it does not understand", () => {
  using log = followKernelLog();
  if (!log.readNew().ok) return;
  // What a program writes is never the kernel's own line, whatever it says.
  writeFileSync("/dev/kmsg", "NVRM: Xid (PCI:0000:01:00): 79, gpuctl's own test\n");
  assert.deepEqual([log.readNew(), log.readNew()], [known([]), known([])]);
});

test("followKernelLog() says each time why there is no log", () => {
  using log = followKernelLog("/dev/none");
  const none = absent("hidden", "there is no /dev/none here: a container has none");
  assert.deepEqual([log.readNew(), log.readNew()], [none, none]);
});
