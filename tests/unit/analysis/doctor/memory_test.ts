import assert from "node:assert/strict";
import { test } from "node:test";
import { gpuIndex } from "../../../../lib/core/ids.ts";
import { absent, known } from "../../../../lib/core/reading.ts";
import { clockTicks } from "../../../../lib/core/units.ts";
import { type DoctorScene, judgeCheck } from "../../../support/doctor_scene.ts";
import { logOf, xid } from "../../../support/reset_scene.ts";

/** A parent that is dead, and the child that has what it had. */
const FORKED: DoctorScene = {
  spec: {
    processes: [{ pid: 900, touch: "inherited", program: "/usr/bin/python3", argv: ["python3", "train.py"] }],
    dead: [{ pid: 800, mib: 2566 }],
  },
};

test("memory.holders-left-behind names who holds memory of the dead, and how to end it", () => {
  const { status, evidence, fix } = judgeCheck("memory.holders-left-behind", FORKED);
  assert.deepEqual({ status, evidence, fix }, {
    status: "finding",
    evidence: [
      "PID 900 (python3 train.py) is inherited: PID 800 is dead and still listed with memory on GPU 0",
    ],
    fix: "see how to end it safely: gpuctl clean-zombies --pid 900",
  });
});

test("memory.ghosts names the dead process and who likely keeps its memory", () => {
  assert.deepEqual(judgeCheck("memory.ghosts", FORKED), {
    status: "finding",
    evidence: [
      "PID 800 is dead and still listed with 2.5 GiB: end PID 900 (python3 train.py) instead, which likely keeps it",
    ],
    fix: "see how to end who keeps it: gpuctl clean-zombies --pid 900",
  });
  assert.deepEqual(judgeCheck("memory.ghosts", { spec: { processes: [], dead: [{ pid: 800, mib: 64 }] } }), {
    status: "finding",
    evidence: ["PID 800 is dead and still listed with 64 MiB, and nobody alive keeps it"],
    fix: "see whether a reset helps: gpuctl reset-gpu 0",
  });
});

test("memory checks do not call a machine clean of which not everybody was seen", () => {
  const unread: DoctorScene = { spec: { processes: [], reader: { isRoot: false, unreadable: 3 } } };
  const inside: DoctorScene = { spec: { processes: [], reader: { isInitial: false } } };
  for (const id of ["memory.holders-left-behind", "memory.ghosts"] as const) {
    const verdict = judgeCheck(id, unread);
    assert.equal(verdict.status, "unknown");
    assert.equal(verdict.fix, "run it as root: sudo gpuctl doctor");
    assert.match(
      verdict.evidence[0] ?? "",
      /^nothing was seen so far, but the descriptors of 3 of \d+ processes/,
    );
    assert.deepEqual(judgeCheck(id, inside), {
      status: "unknown",
      evidence: ["nothing was seen so far, but processes outside this PID namespace cannot be seen"],
      fix: "look from the host: see namespace.pid",
    });
  }
});

test("memory.unattributed is a finding where nobody has the GPU open, and none where somebody explains it", () => {
  assert.deepEqual(
    judgeCheck("memory.unattributed", { spec: { processes: [], gpus: [{ usedMib: 3072 }] } }),
    {
      status: "finding",
      evidence: ["GPU 0: 3 GiB are in use and no process has it open: a reset gives them back"],
      fix: "see whether a reset helps: gpuctl reset-gpu 0",
    },
  );
  const managed = judgeCheck("memory.unattributed", {
    spec: { processes: [{ pid: 812, touch: "context" }], gpus: [{ usedMib: 2000 }] },
  });
  assert.equal(managed.status, "ok");
  assert.deepEqual(
    judgeCheck("memory.unattributed", { spec: { processes: [], gpus: [{ usedMib: 21 }] } }).evidence,
    ["GPU 0: 21 MiB in use, 21 MiB of it with no process: no more than a GPU takes for itself"],
  );
  assert.deepEqual(
    judgeCheck("memory.unattributed", { spec: { processes: [], gpus: [{ list: "no-permission" }] } }),
    {
      status: "unknown",
      evidence: ["who has memory of GPU 0 is not known: no permission"],
      fix: "run it as root: sudo gpuctl doctor",
    },
  );
});

test("reset.needed passes on what the driver asks for, the most drastic first", () => {
  assert.deepEqual(
    judgeCheck("reset.needed", {
      spec: { processes: [], gpus: [{ utilization: 0 }, { utilization: 0 }] },
      gpus: { 0: { recoveryAction: known("reset") }, 1: { recoveryAction: known("reboot") } },
    }),
    {
      status: "finding",
      evidence: [
        "GPU 1: the driver asks for a reboot: a reset does not help",
        "GPU 0: the driver asks for a reset",
      ],
      fix: "let the jobs of the machine end and reboot it; if the GPU stays away, cut the power",
    },
  );
});

test("reset.needed does not say that none is needed while the dead still hold memory", () => {
  assert.deepEqual(judgeCheck("reset.needed", FORKED), {
    status: "unknown",
    evidence: [
      "GPU 0: whether it needs a reset shows once its memory is given back: see memory.holders-left-behind",
    ],
    fix: "gpuctl clean-zombies",
  });
});

test("reset.needed tells of a GPU that cannot be opened", () => {
  const lost: DoctorScene = {
    spec: { processes: [], gpus: [] },
    unreadable: [{ index: gpuIndex(1), reason: absent("lost") }],
  };
  assert.deepEqual(judgeCheck("reset.needed", lost), {
    status: "finding",
    evidence: ["GPU 1: it has fallen off the bus: only a reboot, or cutting the power, brings it back"],
    fix: "let the jobs of the machine end and reboot it; if the GPU stays away, cut the power",
  });
});

test("xid.history tells errors that ask for something from those that do not", () => {
  assert.deepEqual(
    judgeCheck("xid.history", {
      machine: { kernelLog: logOf(xid(79, 5e6, "GPU has fallen off the bus."), xid(31, 6e6)) },
    }),
    {
      status: "finding",
      evidence: [
        "00000000:00:00.0: Xid 79 5 s after boot (the GPU has fallen off the bus): GPU has fallen off the bus.",
      ],
      fix:
        "see whether the GPU still needs a reset: gpuctl reset-gpu 00000000:00:00.0; a card that logs this again and again wants " +
        "replacing",
    },
  );
  assert.deepEqual(
    judgeCheck("xid.history", { machine: { kernelLog: logOf(xid(31, 5e6), xid(45, 6e6), xid(31, 7e6)) } }),
    {
      status: "ok",
      evidence: [
        "00000000:00:00.0: Xid 31, 2 times (a program's own error: start it again)",
        "00000000:00:00.0: Xid 45, 1 time (a process was ended while it used the GPU)",
      ],
    },
  );
});

test("xid.history takes errors from before a reset that is on record for history", () => {
  const bootId = "11111111-2222-3333-4444-555555555555";
  const step = {
    kind: "reset",
    state: "done",
    command: ["nvidia-smi", "-i", "00000000:00:00.0", "-r"],
  };
  const record = (at: string) => JSON.stringify({ at, bootId, event: "outcome", step });
  const moment = {
    host: { name: known("node1"), bootId: known(bootId), kernel: known("6.18.0") },
    takenAt: "2026-11-30T12:00:00.000Z",
    ticks: clockTicks(1_000_000),
  };
  const judge = (at: string) =>
    judgeCheck("xid.history", {
      // 79 at 5,000 s after the boot, which was 10,000 s ago.
      machine: { kernelLog: logOf(xid(79, 5e9)) },
      facts: { acts: known({ text: record(at), moment }) },
    });
  assert.deepEqual(judge("2026-11-30T11:00:00.000Z"), {
    status: "ok",
    evidence: ["00000000:00:00.0: 1 error from before it was reset"],
  });
  assert.equal(judge("2026-11-30T10:00:00.000Z").status, "finding");
});

test("xid.history is unknown for a log that is denied or no longer whole", () => {
  assert.deepEqual(
    judgeCheck("xid.history", { machine: { kernelLog: absent("no-permission", "for root alone") } }),
    {
      status: "unknown",
      evidence: ["what the kernel log says is not known: no permission (for root alone)"],
      fix: "run it as root: sudo gpuctl doctor",
    },
  );
  assert.deepEqual(
    judgeCheck("xid.history", {
      machine: { kernelLog: known({ xids: [], switchErrors: [], isWhole: false }) },
    }),
    {
      status: "unknown",
      evidence: ["the kernel log no longer reaches back to boot: earlier errors are not known"],
      fix: "older errors may be in the journal: journalctl -k -b | grep -i xid",
    },
  );
});

test("xid.history tells of NVSwitches", () => {
  const line = "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal";
  assert.deepEqual(
    judgeCheck("xid.history", {
      machine: { kernelLog: known({ xids: [], switchErrors: [line], isWhole: true }) },
    }),
    {
      status: "finding",
      evidence: [`1 error of NVSwitches, the last: ${line}`],
      fix:
        "see the log of Fabric Manager (journalctl -u nvidia-fabricmanager); reset the GPUs of a link that failed",
    },
  );
});
