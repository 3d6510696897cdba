/** At least one document of each kind that gpuctl writes, by the name of its schema, with every list in it filled. */
import { attribute } from "../../lib/analysis/attribute.ts";
import { diffSnapshots } from "../../lib/analysis/diff_snapshots.ts";
import { judgeIsolation } from "../../lib/analysis/isolation.ts";
import { judgeFindings } from "../../lib/analysis/lint/finding.ts";
import { lintPython } from "../../lib/analysis/lint/lint_python.ts";
import { gpuIndex, pid, uid } from "../../lib/core/ids.ts";
import { absent, known } from "../../lib/core/reading.ts";
import { bytes, clockTicks, milliseconds } from "../../lib/core/units.ts";
import { encodeAuditRecord } from "../../lib/model/audit_json.ts";
import type { Act } from "../../lib/model/cleanup.ts";
import { encodeCleanup } from "../../lib/model/cleanup_json.ts";
import { encodeJobDiff, encodeSnapshotDiff } from "../../lib/model/diff_json.ts";
import { encodeSnapshot } from "../../lib/model/encode.ts";
import { encodeIsolation } from "../../lib/model/isolation_json.ts";
import { encodeRecordingHead, encodeSample } from "../../lib/model/job_sample_json.ts";
import type { Reset } from "../../lib/model/reset.ts";
import type { Diagnosis } from "../../lib/model/doctor.ts";
import { encodeDiagnosis } from "../../lib/model/doctor_json.ts";
import { encodeReset } from "../../lib/model/reset_json.ts";
import { encodeWatchEvent, encodeWatchSample } from "../../lib/model/watch_json.ts";
import { encodeLint } from "../../lib/render/lint_json.ts";
import { DIAGNOSES } from "./diagnoses.ts";
import { isolationCase } from "../unit/analysis/isolation_case.ts";
import { MIB, sampleOf, tell, TOLERANCE } from "./job_story.ts";
import { type MachineSpec, observe, type ProcessSpec } from "./machine.ts";
import { RESETS } from "./resets.ts";
import { CLEARED, DRIVER_ALERT, GHOST_ALERT, HOSTILE_ALERT, WATCH_VIEWS } from "./watch_views.ts";
import { WORLDS } from "./worlds.ts";

const AT = "2026-11-30T12:00:00.000Z";
const IDLE: MachineSpec = { processes: [] };
const WORKER: ProcessSpec = { pid: 900, touch: "context", mib: 4096 };
const BUSY: MachineSpec = { processes: [WORKER] };
const UNREAD: MachineSpec = { processes: [], gpus: [{ list: "no-permission" }] };

const ACT: Act = {
  pid: pid(900),
  startTicks: clockTicks(9000),
  class: "orphan",
  evidence: ["its parent has ended"],
  command: "python3 train.py",
  signal: "SIGTERM",
  outcome: "ended",
  bytesBefore: bytes(4096 * MIB),
  bytesAfter: bytes(0),
  releaseMs: milliseconds(85.4),
};
const PLANNED: Act = {
  ...ACT,
  signal: null,
  outcome: "planned",
  bytesBefore: null,
  bytesAfter: null,
  releaseMs: null,
};

const leak = tell({ before: IDLE, run: [[100, BUSY]], after: BUSY, job: [900], alive: [900, 950] });
const settling = milliseconds(1200.5);
const named = (name: string, machine: MachineSpec) => ({ name, snapshot: attribute(observe(machine)) });
const stray = isolationCase({
  looks: [[{ contexts: [{ pid: 11 }], usedMib: 900 }, {}]],
  processes: [{ pid: 11 }],
});
const grown = isolationCase({
  looks: [[{ list: "unknown", usedMib: 900 }, {}]],
  before: [{ usedMib: 100 }, {}],
});
const LATE = "import torch\ntorch.zeros(1).cuda()\nimport os\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n";

/** Documents of each kind, as they are before they are text. */
export const EXAMPLES: Readonly<Record<string, readonly object[]>> = {
  "gpuctl.snapshot/1": Object.values(WORLDS).map(encodeSnapshot),
  "gpuctl.diff/1": [
    encodeJobDiff(
      tell({ before: IDLE, run: [[100, BUSY]], settle: [[1085, IDLE]], after: IDLE, job: [900] }),
    ),
    encodeJobDiff(tell({ before: UNREAD, after: UNREAD })),
    encodeJobDiff({ ...leak, end: { kind: "killed", signal: 9 } }),
    encodeJobDiff({
      ...leak,
      notes: ["2 samples had no answer: a peak may have been missed."],
      cleanup: {
        acts: [{ pid: ACT.pid, startTicks: ACT.startTicks, outcome: "ended", signal: "SIGTERM" }],
        freed: absent("lost"),
        took: settling,
        settleEnd: "settled",
      },
      gpus: leak.gpus.map((gpu) => ({
        ...gpu,
        name: absent("not-reported"),
        before: absent("lost"),
        verdict: {
          kind: "moved",
          handovers: [{ from: [pid(800)], to: pid(900), bytes: bytes(4096 * MIB) }],
        },
      })),
    }),
    encodeJobDiff({
      ...leak,
      gpus: leak.gpus.map((gpu) => ({
        ...gpu,
        verdict: {
          kind: "still-releasing",
          rate: { perSecond: bytes(MIB), over: settling, remaining: settling },
        },
      })),
    }),
    encodeSnapshotDiff(diffSnapshots(named("a.json", IDLE), named("now", BUSY), TOLERANCE)),
  ],
  "gpuctl.samples/1": [
    encodeRecordingHead(["sh", "-c", "exit 1"], AT),
    encodeSample({ phase: "run", ...sampleOf([1234.5, BUSY]), isJobs: (id) => id === 900 }),
    encodeSample({ phase: "settle", ...sampleOf([2000, "no answer"]), isJobs: () => false }),
  ],
  "gpuctl.clean-zombies/1": [
    encodeCleanup({
      takenAt: known(AT),
      simulated: false,
      isPlan: false,
      acts: [ACT, PLANNED],
      heldBytes: bytes(4096 * MIB),
      kept: [{ pid: pid(300), class: "live", why: "live is not to be ended", isSpared: false }],
      ghosts: WORLDS["forked-child"].ghosts,
      unreadGpus: [gpuIndex(1)],
      sight: { isOwnOnly: false, gaps: ["Not every process was looked at"], limits: [] },
      problems: WORLDS.hostile.problems,
    }),
    encodeCleanup({
      takenAt: absent("not-reported"),
      simulated: true,
      isPlan: true,
      acts: [],
      heldBytes: null,
      kept: [],
      ghosts: [],
      unreadGpus: [],
      sight: { isOwnOnly: true, gaps: [], limits: ["3 processes of other users were not looked into"] },
      problems: [],
    }),
  ],
  "gpuctl.audit/1": [
    encodeAuditRecord({
      at: AT,
      event: "outcome",
      by: known({ pid: pid(4242), uid: uid(0) }),
      bootId: known("2f7c7e1c-9d54-4f0a-8a6e-1a2b3c4d5e6f"),
      simulated: false,
      act: ACT,
    }),
    encodeAuditRecord({
      at: AT,
      event: "intent",
      by: absent("hidden"),
      bootId: absent("no-permission"),
      simulated: true,
      act: PLANNED,
    }),
  ],
  "gpuctl.verify-isolation/1": [
    ...[stray, grown].map((each) => encodeIsolation(judgeIsolation(each), { simulated: false })),
    encodeIsolation(judgeIsolation(isolationCase({ looks: [absent("timed-out")] })), { simulated: true }),
  ],
  "gpuctl.lint/1": [
    ...["", LATE].map((source) => {
      const findings = lintPython(new Map([["train.py", source]]));
      return encodeLint(findings, { files: ["train.py"], ending: judgeFindings(findings) });
    }),
  ],
  "gpuctl.reset/1": Object.values<Reset>(RESETS).map(encodeReset),
  "gpuctl.watch/1": [
    ...Object.values(WATCH_VIEWS).map(encodeWatchSample),
    ...[GHOST_ALERT, HOSTILE_ALERT, DRIVER_ALERT].map((alert) =>
      encodeWatchEvent({ event: "alert", at: AT, alert })
    ),
    encodeWatchEvent(CLEARED),
  ],
  "gpuctl.doctor/1": Object.values<Diagnosis>(DIAGNOSES).map(encodeDiagnosis),
};
