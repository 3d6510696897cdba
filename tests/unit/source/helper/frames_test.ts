import { test } from "node:test";
import assert from "node:assert/strict";
import { parseAnswer, parseQuestion, parseStart } from "../../../../lib/source/helper/frames.ts";
import { context, idleGpu } from "../../../support/driver_reports.ts";

function answerWith(changes: object): string {
  const gpu = { ...idleGpu(0), ...changes };
  const value = {
    driver: { version: absent, libraryVersion: absent, cudaVersion: absent },
    gpus: [gpu],
    unreadableGpus: [],
  };
  return JSON.stringify({ protocol: "gpuctl.helper/1", id: 1, report: { ok: true, value } });
}

const HEALTH = {
  ecc: { ok: false, why: "lost" },
  uncorrectedErrors: { ok: false, why: "lost" },
  remappedRows: { ok: false, why: "lost" },
  hasRetirementPending: { ok: false, why: "lost" },
  nvlinkPeers: { ok: false, why: "lost" },
  hasNvSwitch: { ok: false, why: "lost" },
  virtualization: { ok: false, why: "lost" },
};
const absent = { ok: false, why: "not-reported" };

for (
  const [what, changes, message] of [
    ["a name that is no text", { name: { ok: true, value: 5 } }, "Cannot take 5 for name: expected text"],
    [
      "bytes below 0",
      { memoryUsed: { ok: true, value: -1 } },
      "Cannot make a byte count as it must be a whole number from 0 to 2^53 - 1: current value is -1",
    ],
    [
      "a reading that is neither",
      { name: { value: "H200" } },
      "Cannot take nothing for name.ok: expected true or false",
    ],
    [
      "a reason that is none",
      { name: { ok: false, why: "tired" } },
      'Cannot take "tired" for why: expected one of not-supported, no-permission, lost, reset-required,' +
      " not-reported, not-asked, timed-out, exited, erased, hidden, implausible, failed",
    ],
    [
      "a list without contexts",
      { processList: { state: "known" } },
      "Cannot take nothing for contexts: expected an array",
    ],
    [
      "a list of another state",
      { processList: { state: "empty", contexts: [] } },
      'Cannot take "empty" for state: expected one of known, incomplete, unknown',
    ],
    [
      "a pid that none can have",
      { processList: { state: "known", contexts: [{ ...context(1, 1), pid: 0 }] } },
      "Cannot make a pid as it must be from 1 to 4194304: current value is 0",
    ],
    ["a health that is no object", { health: 5 }, "Cannot take 5 for health: expected an object"],
    ["a health without its parts", { health: {} }, "Cannot take nothing for ecc: expected an object"],
    [
      "a peer that is no PCI address",
      { health: { ...HEALTH, nvlinkPeers: { ok: true, value: ["GPU 3"] } } },
      'Cannot parse "GPU 3" as a PCI address: expected domain:bus:device.function',
    ],
    [
      "a mode of virtualization that is none",
      { health: { ...HEALTH, virtualization: { ok: true, value: "vm" } } },
      'Cannot take "vm" for virtualization: expected one of none, passthrough, vgpu-guest, vgpu-host, vsga-host',
    ],
    [
      "a count below 0",
      { health: { ...HEALTH, uncorrectedErrors: { ok: true, value: -1 } } },
      "Cannot take -1 for uncorrectedErrors: expected a count",
    ],
    ["a GPU that is no object", { processList: [] }, "Cannot take [] for processList: expected an object"],
  ] as const
) {
  test(`parseAnswer() refuses ${what}`, () => {
    assert.throws(() => parseAnswer(answerWith(changes)), { message });
  });
}

test("parseAnswer() refuses what is no frame, without repeating all of it", () => {
  assert.throws(() => parseAnswer("panic: oops"), SyntaxError);
  assert.throws(() => parseAnswer(`["${"x".repeat(500)}"]`), {
    name: "SyntaxError",
    message: `Cannot take ["${"x".repeat(78)} for frame: expected an object`,
  });
});

test("parseQuestion() refuses a question of another version", () => {
  assert.throws(() => parseQuestion('{"id":1,"withUtilization":true}'), {
    name: "SyntaxError",
    message: "Cannot take nothing for protocol: expected one of gpuctl.helper/1",
  });
});

test("parseQuestion() takes health as asked for only when it is true", () => {
  const question = (rest: string) =>
    parseQuestion(`{"protocol":"gpuctl.helper/1","id":1,"withUtilization":true${rest}}`);
  assert.deepEqual(
    [question(""), question(',"withHealth":false'), question(',"withHealth":true')],
    [{ id: 1, withUtilization: true }, { id: 1, withUtilization: true }, {
      id: 1,
      withUtilization: true,
      withHealth: true,
    }],
  );
  assert.throws(() => question(',"withHealth":1'), {
    message: "Cannot take 1 for withHealth: expected true or false",
  });
});

test("parseStart() refuses sources that are none, and paths that depend on where one stands", () => {
  const start = (rest: string) => `{"protocol":"gpuctl.helper/1","parentPid":2,${rest}}`;
  assert.deepEqual(parseStart(start('"source":"nvml"')), { parentPid: 2, request: { source: "nvml" } });
  assert.throws(() => parseStart(start('"source":"smi"')), {
    message: 'Cannot take "smi" for source: expected one of nvml, sim',
  });
  assert.throws(() => parseStart(start('"source":"nvml","library":"libnvidia-ml.so.1"')), {
    message: 'Cannot take "libnvidia-ml.so.1" for library: expected an absolute path',
  });
});
