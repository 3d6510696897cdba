import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { initSimServer } from "../../../../lib/source/sim/init.ts";
import { followSimLog } from "../../../../lib/source/sim/kernel_log.ts";
import { temporaryFolder } from "../../../support/temporary.ts";

const line = (xid: number) => `"NVRM: Xid (PCI:0000:01:00): ${xid}, pid=1, x"`;

test("followSimLog() gives what the faults say more than before", () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, "server");
  const setXids = (...xids: readonly number[]) =>
    initSimServer(directory, {
      faultsPath: folder.write("faults", `xids = [${xids.map(line).join(", ")}]\n`),
    });
  setXids(13);
  const log = followSimLog(directory);
  const read = () => {
    const found = log.readNew();
    return found.ok ? found.value.map(({ xid }) => xid) : found.why;
  };
  assert.deepEqual(read(), []);
  setXids(13, 31, 31);
  assert.deepEqual([read(), read()], [[31, 31], []]);
  setXids(31);
  assert.deepEqual(read(), []);
  setXids(31, 79);
  assert.deepEqual(read(), [79]);
  rmSync(directory, { recursive: true });
  assert.equal(read(), "failed");
});

test("followSimLog() says that a log is for root alone", () => {
  using folder = temporaryFolder();
  const directory = join(folder.path, "server");
  initSimServer(directory, { faultsPath: folder.write("faults", 'kernel-log = "denied"\n') });
  const log = followSimLog(directory);
  assert.deepEqual(log.readNew(), {
    ok: false,
    why: "no-permission",
    detail: "the kernel's log is for root alone",
  });
});
