import assert from "node:assert/strict";
import { test } from "node:test";
import { absent } from "../../../../lib/core/reading.ts";
import { parseSmiText } from "../../../../lib/source/smi/parse.ts";
import { findRefusal, REFUSAL_IDS } from "../../../../lib/source/smi/refusals.ts";

/** One sentence for each refusal, as nvidia-smi prints it. */
const SENTENCES: Readonly<Record<typeof REFUSAL_IDS[number], readonly string[]>> = {
  "no-devices": ["No devices were found"],
  "driver-not-loaded": [
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
    "Failed to initialize NVML: Driver Not Loaded",
  ],
  "library-mismatch": ["Failed to initialize NVML: Driver/library version mismatch"],
  "tool-mismatch": ["Mismatch in versions between nvidia-smi and NVML."],
  "library-missing": [
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly installed and present in your system.",
  ],
  "access-blocked": ["Failed to initialize NVML: GPU access blocked by the operating system"],
  "no-permission": ["Failed to initialize NVML: Insufficient Permissions"],
  "nvml-unknown-error": ["Failed to initialize NVML: Unknown Error"],
  "nvml-failed": ["Failed to initialize NVML: Not Ready"],
  "gpu-unreachable": [
    "Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.  Reboot the system to recover this GPU",
    "Unable to determine the device handle for GPU0000:08:00.0: Unknown Error",
    "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown Error",
    "Unable to determine the device handle for GPU0: Unknown Error",
    "Unable to determine the device handle for gpu 0000:02:00.0: Insufficient Permissions",
  ],
  "inforom-corrupt": ["WARNING: infoROM is corrupted at gpu 0000:3B:00.0"],
  "unknown-field": ['Field "bogus" is not a valid field to query.'],
  "bad-arguments": [
    "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.",
    "ERROR: Option --bogus is not recognized. Please run 'nvidia-smi -h'.",
  ],
  "not-installed": [
    "bash: nvidia-smi: command not found",
    "zsh: command not found: nvidia-smi",
    "/bin/sh: 1: nvidia-smi: not found",
    "-bash: line 3: nvidia-smi: command not found",
  ],
};

for (const id of REFUSAL_IDS) {
  test(`findRefusal() knows ${id} by its sentence`, () => {
    assert.deepEqual(SENTENCES[id].map((sentence) => findRefusal(sentence)?.id), SENTENCES[id].map(() => id));
  });
}

test("findRefusal() reads which GPU it is about, and what that GPU said", () => {
  assert.deepEqual(SENTENCES["gpu-unreachable"].map(findRefusal).map((found) => [found?.gpu, found?.why]), [
    [{ busId: "00000000:05:00.0" }, "lost"],
    [{ busId: "00000000:08:00.0" }, "failed"],
    [{ index: "1", busId: "00000000:34:00.0" }, "failed"],
    [{ index: "0" }, "failed"],
    [{ busId: "00000000:02:00.0" }, "no-permission"],
  ]);
});

test("findRefusal() reads the field that a version does not know", () => {
  assert.equal(
    findRefusal('Field "gpu_recovery_action" is not a valid field to query.')?.field,
    "gpu_recovery_action",
  );
});

test("findRefusal() finds none in other text", () => {
  const texts = [
    "",
    "No running processes found",
    "All done.",
    "the sentence `No devices were found` means",
    "nvidia-smi",
  ];
  assert.deepEqual(new Set(texts.map(findRefusal)), new Set([undefined]));
});

test("parseSmiText() gives the first refusal as the reason for everything", () => {
  const text =
    "Unable to determine the device handle for GPU0: 0000:01:00.0: Unknown Error\nNo devices were found\n";
  const { report, refusals, listing } = parseSmiText(text);
  assert.deepEqual([report, refusals.map(({ id }) => id), listing], [
    absent("failed", "Unable to determine the device handle for GPU0: 0000:01:00.0: Unknown Error"),
    ["gpu-unreachable", "no-devices"],
    "unknown",
  ]);
});
