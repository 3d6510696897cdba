/** Who is named for what a job left, and who is not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tell } from "../../support/job_story.ts";
import type { ProcessSpec } from "../../support/machine.ts";

const worker: ProcessSpec = { pid: 900, touch: "context", mib: 4096 };
const stranger = (mib: number): ProcessSpec => ({ pid: 300, touch: "context", mib });

test("diffJob() says once what a leftover has on several GPUs", () => {
  const left: ProcessSpec = { pid: 905, touch: "visible", on: [0, 1, 3], parent: 99_999 };
  const gpus = [{}, {}, {}, {}];
  const grown = [{ usedMib: 700 }, { usedMib: 700 }, {}, { usedMib: 700 }];
  const diff = tell({
    before: { processes: [], gpus },
    run: [[100, { processes: [worker, left], gpus }]],
    after: { processes: [left], gpus: grown },
    job: [900, 905],
    alive: [905],
  });

  assert.deepEqual(diff.leftovers.map(({ why }) => why), [
    "has GPU 0-1,3 mapped, where memory is charged to no process",
  ]);
});

test("diffJob() does not blame who was on the GPU before for what is listed with the job's dead", () => {
  const older: ProcessSpec[] = [stranger(1000), { ...stranger(1000), pid: 310 }];
  const diff = tell({
    before: { processes: older },
    run: [[100, { processes: [...older, worker] }]],
    after: { processes: older, dead: [{ pid: 900, mib: 4096 }] },
    job: [900],
    settleEnd: "limit",
  });

  assert.deepEqual(diff.gpus[0]?.verdict, { kind: "held-by-nobody-visible", listed: [900] });
  assert.deepEqual(diff.leftovers, []);
  assert.deepEqual(diff.notes, [
    `PID ${
      older.map(({ pid }) => pid).sort().join(", ")
    } had GPU 0 mapped before the job began: whether a part of ` +
    "this was shared with them (CUDA IPC) cannot be told.",
  ]);
});
