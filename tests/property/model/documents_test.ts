import { test } from "node:test";
import fc from "fast-check";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { diffSnapshots } from "../../../lib/analysis/diff_snapshots.ts";
import { gpuIndex } from "../../../lib/core/ids.ts";
import { known } from "../../../lib/core/reading.ts";
import { bytes, milliseconds } from "../../../lib/core/units.ts";
import { encodeCleanup } from "../../../lib/model/cleanup_json.ts";
import { encodeJobDiff, encodeSnapshotDiff } from "../../../lib/model/diff_json.ts";
import { encodeSnapshot } from "../../../lib/model/encode.ts";
import { JOB_PHASES } from "../../../lib/model/job_sample.ts";
import { encodeRecordingHead, encodeSample } from "../../../lib/model/job_sample_json.ts";
import { renderJson } from "../../../lib/render/json.ts";
import { parseDocument, parseDocumentLines } from "../../support/documents.ts";
import { MIB, tell, TOLERANCE } from "../../support/job_story.ts";
import { machines } from "../../support/machine_arbitrary.ts";
import { observe } from "../../support/machine.ts";
import { anyReading, anySnapshot, hostileText } from "../../support/snapshots.ts";

test("encodeSnapshot() writes what the printed schema says, whatever the snapshot", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    parseDocument(renderJson(encodeSnapshot(snapshot)));
  }));
});

test("encodeSnapshotDiff() writes what the printed schema says, whatever the machines", () => {
  fc.assert(fc.property(machines, machines, hostileText, (was, is, name) => {
    const [before, after] = [was, is].map((machine) => ({ name, snapshot: attribute(observe(machine)) }));
    if (before && after) {
      parseDocument(renderJson(encodeSnapshotDiff(diffSnapshots(before, after, TOLERANCE))));
    }
  }));
});

test("encodeJobDiff() writes what the printed schema says, whatever the job did", () => {
  const job = fc.subarray([2, 3, 4, 5, 6, 7, 8, 9]);
  fc.assert(fc.property(machines, machines, machines, job, (before, during, after, members) => {
    const diff = tell({
      before,
      run: [[100, during], [200, "no answer"]],
      settle: [[1100, after]],
      after,
      job: members,
      alive: members,
    });
    parseDocument(renderJson(encodeJobDiff(diff)));
  }));
});

test("encodeSample() writes what the printed schema says, whatever the driver reports", () => {
  const report = anyReading(anySnapshot.map(({ gpus }) => ({
    driver: { version: known("580"), libraryVersion: known("580"), cudaVersion: known("13.0") },
    gpus: gpus.map(({ gpu }) => gpu),
    unreadableGpus: [],
  })));
  const at = fc.double({ min: 0, max: 1e12, noNaN: true }).map(milliseconds);
  const words = fc.array(hostileText, { minLength: 1, maxLength: 3 });
  fc.assert(fc.property(words, fc.constantFrom(...JOB_PHASES), at, report, (command, phase, at, report) => {
    const lines = [
      encodeRecordingHead(command, "2026-11-30T12:00:00.000Z"),
      encodeSample({ phase, at, report, isJobs: (id) => id % 2 === 0 }),
    ];
    parseDocumentLines(lines.map((line) => JSON.stringify(line)).join("\n"));
  }));
});

test("encodeCleanup() writes what the printed schema says, whatever the machine", () => {
  fc.assert(fc.property(anySnapshot, fc.boolean(), (snapshot, isPlan) => {
    const { takenAt, simulated, holders, ghosts, problems } = snapshot;
    parseDocument(renderJson(encodeCleanup({
      takenAt,
      simulated,
      isPlan,
      acts: holders.flatMap(({ pid, startTicks, class: name, evidence, name: command }) =>
        startTicks.ok
          ? [{
            ...{ pid, startTicks: startTicks.value, class: name, evidence, command },
            ...{ signal: "SIGKILL", outcome: "survived", bytesBefore: bytes(MIB), bytesAfter: null } as const,
            releaseMs: milliseconds(0.5),
          }]
          : []
      ),
      heldBytes: null,
      kept: holders.map(({ pid, class: name, advice }) => ({
        pid,
        class: name,
        why: advice,
        isSpared: isPlan,
      })),
      ghosts,
      unreadGpus: [gpuIndex(7)],
      sight: { isOwnOnly: isPlan, gaps: problems.map(({ message }) => message), limits: [] },
      problems,
    })));
  }));
});
