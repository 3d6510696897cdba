import assert from "node:assert/strict";
import { test } from "node:test";
import {
  driverConditions,
  ghostConditions,
  lostConditions,
  memoryConditions,
  recoveryConditions,
  unattributedConditions,
} from "../../../../lib/analysis/watch/conditions.ts";
import { IdleWatch } from "../../../../lib/analysis/watch/idle_holders.ts";
import { attribute } from "../../../../lib/analysis/attribute.ts";
import { gpuIndex } from "../../../../lib/core/ids.ts";
import { absent, known } from "../../../../lib/core/reading.ts";
import { bytes, milliseconds, percent } from "../../../../lib/core/units.ts";
import { observe, reportOf, uuidOf } from "../../../support/machine.ts";
import { WORLDS } from "../../../support/worlds.ts";

const MINUTE = milliseconds(60_000);
const GPU_0 = { index: gpuIndex(0), uuid: uuidOf(0) };
const KNOWN = new Map([[0, GPU_0]]);

test("driverConditions() repeats why there is no answer", () => {
  const [told] = driverConditions(absent("timed-out", "helper 77 has been stuck in the driver since noon"));
  assert.equal(
    told?.message,
    "the driver gives no answer: no answer in time (helper 77 has been stuck in the driver since noon)",
  );
  assert.deepEqual(driverConditions(known(reportOf({ processes: [] }))), []);
});

test("lostConditions() knows a GPU that cannot be opened, one that is gone, and one that is still listed", () => {
  const report = reportOf({ processes: [] });
  const messages = (changed: Partial<typeof report>) =>
    lostConditions({ ...report, ...changed }, KNOWN).map(({ key, message }) => [key, message]);
  const key = `gpu-lost ${uuidOf(0)}`;
  const [gpu] = report.gpus;
  assert.ok(gpu);
  assert.deepEqual(messages({}), []);
  assert.deepEqual(messages({ gpus: [] }), [[key, "GPU 0 is gone: the driver no longer names it"]]);
  assert.deepEqual(
    messages({ gpus: [], unreadableGpus: [{ index: gpuIndex(0), reason: absent("lost") }] }),
    [[key, "GPU 0 cannot be asked: the GPU has fallen off the bus"]],
  );
  assert.deepEqual(messages({ gpus: [{ ...gpu, memoryUsed: absent("reset-required") }] }), [
    [key, "GPU 0 cannot be asked: the GPU needs a reset"],
  ]);
  assert.deepEqual(messages({ gpus: [{ ...gpu, memoryUsed: absent("not-supported") }] }), []);
});

test("lostConditions() tells of a GPU that was never readable", () => {
  const report = {
    ...reportOf({ processes: [] }),
    unreadableGpus: [{ index: gpuIndex(3), reason: absent("lost") }],
  };
  assert.deepEqual(lostConditions(report, KNOWN).map(({ key, gpu }) => [key, gpu]), [
    ["gpu-lost 3", { index: 3, uuid: undefined }],
  ]);
});

test("recoveryConditions() tells each action apart, and takes none for none", () => {
  const [gpu] = reportOf({ processes: [] }).gpus;
  assert.ok(gpu);
  const keys = (["none", "reset", "reboot"] as const).flatMap((action) =>
    recoveryConditions([{ ...gpu, recoveryAction: known(action) }]).map(({ key }) => key)
  );
  assert.deepEqual(keys, [`recovery ${uuidOf(0)} reset`, `recovery ${uuidOf(0)} reboot`]);
});

test("memoryConditions() says nothing where the total or the use is not known, unless it needs no total", () => {
  const [gpu] = reportOf({ processes: [], gpus: [{ usedMib: 5000 }] }).gpus;
  assert.ok(gpu);
  const untold = { ...gpu, memoryTotal: absent("not-supported") };
  assert.deepEqual(memoryConditions([untold], { percent: percent(1) }), []);
  assert.deepEqual(memoryConditions([untold], { bytes: bytes(1) }).map(({ message }) => message), [
    "4.9 GiB are in use on GPU 0",
  ]);
  assert.deepEqual(memoryConditions([{ ...gpu, memoryUsed: absent("lost") }], { bytes: bytes(1) }), []);
});

test("unattributedConditions() gives the likely cause as what shows it", () => {
  const [told] = unattributedConditions(WORLDS.unattributed, { above: bytes(1), for: MINUTE });
  assert.deepEqual([told?.after, told?.evidence], [MINUTE, [
    "managed memory (cudaMallocManaged) is listed with no process; it can only belong to PID 812",
  ]]);
});

test("ghostConditions() names who keeps a ghost, and sends nobody after the dead", () => {
  const [told] = ghostConditions(WORLDS["forked-child"], MINUTE);
  assert.deepEqual([told?.message, told?.advice], [
    "PID 794 is dead and still has 2.5 GiB on GPU 0",
    "gpuctl clean-zombies --gpu 0 shows how to end safely what keeps it",
  ]);
  assert.match(told?.evidence[0] ?? "", /^most likely kept by PID 812 \(python train\.py/);
  const ghosts = WORLDS["forked-child"].ghosts.map((ghost) => ({ ...ghost, likelyHolders: [] }));
  const [alone] = ghostConditions({ ...WORLDS["forked-child"], ghosts }, MINUTE);
  assert.deepEqual([alone?.evidence, alone?.advice], [
    ["kept by no process that can be seen"],
    "gpuctl reset-gpu 0 says whether a reset would help",
  ]);
});

test("IdleWatch says where it cannot tell, and leaves alone what is idle by nature", () => {
  const watch = new IdleWatch(MINUTE);
  const at = (ticks: number) =>
    observe({
      ticks,
      processes: [
        { pid: 50, touch: "context", owner: { unit: "ollama.service" } },
        { pid: 60, touch: "context" },
      ],
      gpus: [{ utilization: 0 }],
    });
  for (const ticks of [1_000_000, 1_003_000, 1_009_000]) watch.add(at(ticks));
  const snapshot = attribute(at(1_009_000));
  assert.deepEqual(snapshot.holders.map((holder) => holder.class), ["service", "detached"]);
  assert.deepEqual(watch.conditions(snapshot).map(({ process, already }) => [process?.pid, already]), [
    [60, 90_000],
  ]);
  assert.deepEqual(watch.problems(snapshot), []);
  const [account] = snapshot.gpus;
  assert.ok(account);
  const mig = { ...account, gpu: { ...account.gpu, utilization: absent("not-supported") } };
  assert.deepEqual(watch.problems({ ...snapshot, gpus: [mig] }).map(({ message }) => message), [
    "GPU 0 does not say how busy it is: idle holders there are not told",
  ]);
});
