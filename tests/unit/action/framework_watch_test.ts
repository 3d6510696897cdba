import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameworkWatch } from "../../../lib/action/framework_watch.ts";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known, type Reading } from "../../../lib/core/reading.ts";
import { type MachineSpec, reportOf, uuidOf } from "../../support/machine.ts";

const TORCH = known(["/opt/torch/lib/libtorch_cuda.so"]);
const NOTHING = known(["/usr/bin/python3"]);
const ON_BOTH: MachineSpec = {
  gpus: [{}, {}],
  processes: [
    { pid: 11, touch: "context", on: [0, 1] },
    { pid: 12, touch: "context", on: [1] },
    { pid: 13, touch: "context", on: [0] },
  ],
};

/** Takes so many looks at processes on both GPUs, of which the second and all but PID 13 are the job's. */
function watch(looks: number, readMappedFiles: (read: number) => Reading<readonly string[]>) {
  const reads: number[] = [];
  const running = new FrameworkWatch({
    readMappedFiles(id) {
      reads.push(id);
      return readMappedFiles(reads.length);
    },
  });
  for (let look = 0; look < looks; look++) {
    running.add(reportOf(ON_BOTH), { allowed: [{ gpu: uuidOf(1) }], isJobs: (id) => id !== pid(13) });
  }
  return { reads, frameworks: [...running.frameworks] };
}

test("FrameworkWatch reads at first sight whoever of the job is on another GPU, and nobody else", () => {
  assert.deepEqual(watch(5, () => TORCH), { reads: [11], frameworks: [[11, "PyTorch"]] });
});

test("FrameworkWatch looks again where a process had nothing yet, or could not be read", () => {
  const later = watch(4, (read) => read === 1 ? NOTHING : read === 2 ? absent("no-permission") : TORCH);
  assert.deepEqual(later, { reads: [11, 11, 11], frameworks: [[11, "PyTorch"]] });
});

test("FrameworkWatch reads ever more rarely while nothing is found, and gives up", () => {
  assert.deepEqual(watch(1000, () => NOTHING), { reads: Array(7).fill(11), frameworks: [] });
});
