import assert from "node:assert/strict";
import { test } from "node:test";
import { JobRecording } from "../../../lib/action/job_recording.ts";
import { GpuctlError } from "../../../lib/core/errors.ts";
import type { LineFile } from "../../../lib/world/ports.ts";
import { sampleOf } from "../../support/job_story.ts";

const sample = { phase: "run" as const, ...sampleOf([100, { processes: [] }]), isJobs: () => false };

/** A file with room for some lines. */
function fileFor(room: number): LineFile & { readonly lines: string[]; readonly attempts: number } {
  const lines: string[] = [];
  let attempts = 0;
  return {
    lines,
    get attempts() {
      return attempts;
    },
    append(line) {
      attempts++;
      if (lines.length >= room) throw new GpuctlError("unavailable", "Cannot write samples: ENOSPC");
      lines.push(line);
    },
    [Symbol.dispose]: () => {},
  };
}

test("JobRecording writes a head and one line a sample", () => {
  const file = fileFor(9);
  const recording = new JobRecording({ lines: file, isDrawn: false });
  recording.begin(["make"], "2026-11-30T12:00:00.000Z");
  recording.add(sample);

  assert.deepEqual(file.lines.map((line) => Object.keys(JSON.parse(line))), [
    ["schema", "startedAt", "command"],
    ["elapsedMs", "phase", "gpus"],
  ]);
  assert.equal(recording.series, undefined);
});

test("JobRecording lets a full disk end the recording, never the job", () => {
  const file = fileFor(1);
  const recording = new JobRecording({ lines: file, isDrawn: true });
  recording.begin(["make"], "2026-11-30T12:00:00.000Z");
  recording.add(sample);
  recording.add(sample);

  assert.equal(recording.failure?.message, "Cannot write samples: ENOSPC");
  assert.deepEqual([file.lines.length, file.attempts], [1, 2]);
  assert.equal(recording.series?.lastAt, 100);
});
