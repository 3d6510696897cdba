import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeResetNeed, judgeUnreadableGpu } from "../../../lib/analysis/reset_need.ts";
import { gpuIndex } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { bytes, percent } from "../../../lib/core/units.ts";
import { RECOVERY_ACTIONS } from "../../../lib/model/gpu.ts";
import { logOf, resetInput, type ResetScene, xid } from "../../support/reset_scene.ts";

const OLD_DRIVER = { recoveryAction: absent("not-supported") };
const ACTION_UNKNOWN = "which recovery the driver asks for is not known: not supported here";
const NO_ACTION = "the driver asks for no recovery";
const GIB = 1024 ** 3;

function judge(scene: ResetScene) {
  const input = resetInput(scene);
  const [gpu] = input.gpus;
  assert.ok(gpu);
  const { advice, reasons, processes } = judgeResetNeed(gpu, input);
  return { advice, reasons, processes };
}

test("judgeResetNeed() finds nothing to mend on a GPU of which all was read", () => {
  assert.deepEqual(judge({}), { advice: "none", reasons: [NO_ACTION], processes: [] });
});

test("judgeResetNeed() follows the driver's recovery action", () => {
  assert.deepEqual(
    RECOVERY_ACTIONS.map((
      action,
    ) => [action, judge({ gpus: { 0: { recoveryAction: known(action) } } }).advice]),
    [
      ["none", "none"],
      ["reset", "reset"],
      ["reboot", "reboot"],
      ["drain-p2p", "drain"],
      ["drain-and-reset", "drain"],
      ["recover-imex-domain", "none"],
      ["bus-reset", "reset"],
      ["system-reboot", "reboot"],
    ],
  );
});

test("judgeResetNeed() takes errors for history once the driver names its recovery action", () => {
  assert.deepEqual(judge({ facts: { kernelLog: logOf(xid(119, 5e6, "Timeout")) } }), {
    advice: "none",
    reasons: [NO_ACTION, "history: Xid 119 5 s after boot (asks for a reset): Timeout"],
    processes: [],
  });
});

test("judgeResetNeed() goes by the errors where the driver names no recovery action", () => {
  assert.deepEqual(judge({ gpus: { 0: OLD_DRIVER }, facts: { kernelLog: logOf(xid(79, 5e6, "bus")) } }), {
    advice: "reboot",
    reasons: ["Xid 79 5 s after boot (the GPU has fallen off the bus): bus", ACTION_UNKNOWN],
    processes: [],
  });
});

test("judgeResetNeed() does not know without the recovery action, nor without the log where that decides", () => {
  assert.deepEqual(judge({ gpus: { 0: OLD_DRIVER }, facts: { kernelLog: absent("no-permission") } }), {
    advice: "unknown",
    reasons: [ACTION_UNKNOWN, "the history of its errors is not known: no permission"],
    processes: [],
  });
  const cut = known({ xids: [], switchErrors: [], isWhole: false });
  assert.deepEqual(judge({ facts: { kernelLog: cut } }).reasons, [
    NO_ACTION,
    "the kernel log no longer reaches back to boot: earlier errors are not known",
  ]);
  assert.deepEqual(judge({ facts: { kernelLog: absent("no-permission") } }), {
    advice: "none",
    reasons: [NO_ACTION, "the history of its errors is not known: no permission"],
    processes: [],
  });
});

test("judgeResetNeed() wants a reboot for a GPU that is lost, whoever says so, and a reset for one that asks for it", () => {
  const lost = { recoveryAction: absent("lost"), memoryUsed: absent("lost") };
  assert.deepEqual(judge({ gpus: { 0: lost } }), {
    advice: "reboot",
    reasons: ["it has fallen off the bus: only a reboot, or cutting the power, brings it back"],
    processes: [],
  });
  assert.deepEqual(
    judge({
      gpus: {
        0: { ...lost, memoryUsed: absent("reset-required"), recoveryAction: absent("reset-required") },
      },
    }),
    {
      advice: "reset",
      reasons: ["the driver refuses every question until it is reset"],
      processes: [],
    },
  );
});

test("judgeResetNeed() names who keeps the memory of the dead, to be ended instead", () => {
  const machine = { processes: [{ pid: 795, touch: "inherited" as const }], dead: [{ pid: 794, mib: 2566 }] };
  assert.deepEqual(judge({ machine }), {
    advice: "end-processes",
    reasons: [
      "end PID 795 (python3.12 train.py) instead: inherited, PID 794 is dead and still listed with memory on GPU 0",
      "PID 794 is dead and still listed with 2.5 GiB: end PID 795 (python3.12 train.py) instead, which likely keeps it",
      NO_ACTION,
    ],
    processes: [795],
  });
});

test("judgeResetNeed() sends nobody after a leftover that only has the GPU open", () => {
  const argv = [
    "python3",
    "-c",
    "from multiprocessing.spawn import spawn_main; spawn_main()",
    "--multiprocessing-fork",
  ];
  const machine = {
    gpus: [{}, {}],
    processes: [{ pid: 900, touch: "context" as const, argv, on: [1], opens: [0] }],
  };
  assert.deepEqual(judge({ machine }), { advice: "none", reasons: [NO_ACTION], processes: [] });
  assert.deepEqual(judge({ machine, chosen: [1] }).processes, [900]);
});

test("judgeResetNeed() wants a reset for the memory of the dead only when nobody alive can have it", () => {
  const dead = [{ pid: 794, mib: 2566 }];
  assert.deepEqual(judge({ machine: { processes: [], dead } }), {
    advice: "reset",
    reasons: ["PID 794 is dead and still listed with 2.5 GiB, and nobody alive keeps it", NO_ACTION],
    processes: [],
  });
  assert.deepEqual(judge({ machine: { processes: [], dead, reader: { unreadable: 3 } } }), {
    advice: "unknown",
    reasons: [
      "PID 794 is dead and still listed with 2.5 GiB; who keeps it is not known: the descriptors of 3 of 1 processes cannot be listed",
      NO_ACTION,
    ],
    processes: [],
  });
});

test("judgeResetNeed() says of a holder in state D that a reset is refused", () => {
  const machine = {
    processes: [{ pid: 812, touch: "context" as const, state: "D" as const, waitsIn: "nvidia_ioctl" }],
  };
  assert.deepEqual(judge({ machine }), {
    advice: "reboot",
    reasons: [
      "PID 812 waits in the driver (nvidia_ioctl), state D: no signal reaches it; a reset is refused while it is there. Look again in a minute: if it stays, only a reboot ends it",
      NO_ACTION,
    ],
    processes: [],
  });
});

test("judgeResetNeed() knows the latched utilization, and its milder cure", () => {
  assert.deepEqual(judge({ gpus: { 0: { utilization: known(percent(100)) } } }), {
    advice: "reset",
    reasons: [
      "it claims to be 100 % busy with no process and no memory in use. Milder first: run a program that opens and closes a CUDA context, or look again with persistence mode off; a reset if it stays",
      NO_ACTION,
    ],
    processes: [],
  });
  const latched = (machine: ResetScene["machine"], has = {}) =>
    judge({ ...(machine && { machine }), gpus: { 0: { utilization: known(percent(100)), ...has } } }).reasons
      .some((
        reason,
      ) => reason.startsWith("it claims"));
  assert.deepEqual([
    latched({ processes: [{ pid: 812, touch: "visible" }] }),
    latched({ processes: [], dead: [{ pid: 794, mib: 9 }] }),
    latched({ processes: [] }, { memoryUsed: known(bytes(GIB)) }),
    latched({ processes: [] }),
  ], [false, false, false, true]);
  const busy = { processes: [{ pid: 812, touch: "context" as const }] };
  assert.equal(judge({ machine: busy, gpus: { 0: { utilization: known(percent(100)) } } }).advice, "none");
});

test("judgeResetNeed() wants what is pending applied: at once on a free GPU, after its jobs on another", () => {
  const rows = { correctable: 0, uncorrectable: 1, isPending: true, hasFailed: false };
  const pending = { has: { remappedRows: known(rows), ecc: known({ current: true, pending: false }) } };
  const reasons = [
    "bad rows of its memory are remapped at the next reset",
    "ECC is turned off at the next reset",
    NO_ACTION,
  ];
  assert.deepEqual(judge({ gpus: { 0: pending } }), { advice: "reset", reasons, processes: [] });
  const machine = { processes: [{ pid: 812, touch: "context" as const }] };
  assert.deepEqual(judge({ machine, gpus: { 0: pending } }), { advice: "drain", reasons, processes: [] });
  assert.equal(judge({ gpus: { 0: { has: { hasRetirementPending: known(true) } } } }).advice, "reset");
});

test("judgeResetNeed() says what the driver does not tell while MIG is on", () => {
  const on = {
    migMode: known({ current: true, pending: true }),
    has: { remappedRows: absent("not-supported") },
  };
  assert.deepEqual(judge({ gpus: { 0: on } }), {
    advice: "none",
    reasons: [NO_ACTION, "whether rows of its memory wait for a reset is not told while MIG is on"],
    processes: [],
  });
  assert.equal(judge({ gpus: { 0: { has: on.has } } }).reasons.length, 1);
});

test("judgeResetNeed() sends a card whose remapping failed to be replaced, not to be reset", () => {
  const rows = { correctable: 0, uncorrectable: 9, isPending: false, hasFailed: true };
  assert.deepEqual(judge({ gpus: { 0: { has: { remappedRows: known(rows) } } } }), {
    advice: "none",
    reasons: [
      NO_ACTION,
      "a row of its memory could not be remapped: no reset mends that; have the card replaced",
    ],
    processes: [],
  });
});

test("judgeResetNeed() wants a reset for memory that nobody has, and does not blame what it could not see", () => {
  const held = { memoryUsed: known(bytes(10 * GIB)) };
  assert.deepEqual(judge({ gpus: { 0: held } }), {
    advice: "reset",
    reasons: ["10 GiB are in use and no process has it open: a reset gives them back", NO_ACTION],
    processes: [],
  });
  assert.equal(
    judge({ gpus: { 0: held }, machine: { processes: [], reader: { cutShort: "timed-out" } } }).advice,
    "unknown",
  );
  assert.equal(
    judge({ gpus: { 0: { ...held, has: { virtualization: known("vgpu-host") } } } }).advice,
    "none",
  );
  assert.equal(judge({ gpus: { 0: { ...held, displayActive: known(true) } } }).advice, "none");
});

test("judgeResetNeed() wants a reset for a GPU that its fabric refused, and not for one whose manager does not run", () => {
  const fabric = (state: "completed" | "not-started", status: number) => ({
    has: { hasNvSwitch: known(true), fabric: known({ state, status }) },
  });
  assert.equal(judge({ gpus: { 0: fabric("completed", 0) } }).advice, "none");
  assert.equal(judge({ gpus: { 0: fabric("completed", 23) } }).advice, "reset");
  assert.deepEqual(judge({ gpus: { 0: fabric("not-started", 0) } }).reasons, [
    NO_ACTION,
    "it has not joined its NVLink fabric: start Fabric Manager; a reset does not help",
  ]);
});

test("judgeResetNeed() does not say that nothing is wrong while a part was not read", () => {
  const parts: readonly NonNullable<ResetScene["gpus"]>[0][] = [
    { processList: { state: "unknown", reason: absent("failed") } },
    { memoryUsed: absent("failed") },
    { utilization: absent("not-asked") },
    { migMode: absent("failed") },
    { has: { remappedRows: absent("failed") } },
    { has: { hasRetirementPending: absent("failed") } },
    { has: { ecc: absent("timed-out") } },
    { has: { hasNvSwitch: known(true), fabric: absent("failed") } },
  ];
  assert.deepEqual(
    parts.map((part) => judge({ gpus: { 0: part ?? {} } }).advice),
    parts.map(() => "unknown"),
  );
});

test("judgeUnreadableGpu() wants a reboot for a GPU that cannot be opened because it is lost, else does not know", () => {
  assert.deepEqual(judgeUnreadableGpu(gpuIndex(3), absent("lost")), {
    gpu: "index:3",
    index: 3,
    name: absent("lost"),
    advice: "reboot",
    reasons: ["it has fallen off the bus: only a reboot, or cutting the power, brings it back"],
    processes: [],
  });
  assert.deepEqual(judgeUnreadableGpu(gpuIndex(3), absent("failed", "NVML_ERROR_UNKNOWN")).reasons, [
    "it cannot be opened: the call failed (NVML_ERROR_UNKNOWN)",
  ]);
});
