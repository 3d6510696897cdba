import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { judgeResetAnswer, judgeSetterAnswer } from "../../../lib/analysis/smi_reset_answer.ts";
import { type BusId, parseBusId } from "../../../lib/core/ids.ts";
import type { ToolRun } from "../../../lib/model/tool_run.ts";

const FOLDER = new URL("../../fixtures/reset/", import.meta.url);
const ONE = [parseBusId("0000:c1:00.0")];
const DONE = "GPU 00000000:C1:00.0 was successfully reset.\nAll done.\n";

interface Fixture {
  readonly file: string;
  readonly status: number;
  readonly busIds: readonly string[];
}

function read(file: string): string {
  return readFileSync(new URL(file, FOLDER), "utf8");
}

function ended(text: string, status = 255): ToolRun {
  return { kind: "ended", status, signal: undefined, text };
}

function refusalOf(run: ToolRun, busIds: readonly BusId[] = ONE): string {
  const answer = judgeResetAnswer(run, busIds);
  return answer.kind === "done" ? "done" : answer.refusal;
}

test("judgeResetAnswer() reads every saved answer", () => {
  const fixtures: readonly Fixture[] = JSON.parse(read("manifest.json"));
  assert.deepEqual(
    fixtures.map((
      { file, status, busIds },
    ) => [file, refusalOf(ended(read(file), status), busIds.map(parseBusId))]),
    [
      ["in_use_persistence.txt", "in-use"],
      ["in_use_450.txt", "in-use"],
      ["done_450.txt", "done"],
      ["primary_gpu.txt", "primary-gpu"],
    ],
  );
});

test("judgeResetAnswer() knows both ways of writing that other processes use the GPU", () => {
  const tail = "Fabric Manager, CUDA application). Please first kill all processes using this device";
  assert.deepEqual(
    ["(e.g.", "(e.g.,"].map((head) =>
      refusalOf(ended(`1 device is currently being used by one or more other processes ${head} ${tail}`))
    ),
    ["in-use", "in-use"],
  );
});

test("judgeResetAnswer() explains a refusal and says what to do", () => {
  assert.deepEqual(judgeResetAnswer(ended(read("primary_gpu.txt")), ONE), {
    kind: "refused",
    refusal: "primary-gpu",
    explanation: "the console is on this GPU, and that one cannot be reset",
    next: "reboot, or choose another primary GPU in the firmware's set-up",
    indexes: [],
    text: "GPU Reset couldn't run because GPU 00000000:01:00.0 is the primary GPU.",
  });
});

test("judgeResetAnswer() reads the indexes of linked GPUs that are missing", () => {
  const text = "GPU 00000000:06:00.0, GPU 00000000:07:00.0 do not meet the reset criterion " +
    "(e.g. NVLink connected GPUs must be reset together). Please append the following device indexes: 1,2, 5";
  const answer = judgeResetAnswer(ended(text), ONE);
  assert.deepEqual(answer.kind === "refused" && [answer.refusal, answer.indexes], ["linked", [1, 2, 5]]);
});

const TEXTS: readonly [string, string][] = [
  ["GPU 00000000:C1:00.0 is in vGPU mode.", "vgpu-mode"],
  ["Resetting GPU 00000000:C1:00.0 is not supported.", "unsupported"],
  ["GPU reset unavailable: no such method", "unsupported"],
  ["Unable to reset GPU: Not Supported", "unsupported"],
  ["Reset type is not supported for given device", "reset-type"],
  ["Unable to reset this GPU because a pending MIG mode change is set", "mig-pending"],
  ["Insufficient Permissions", "permission"],
  ["Error encountered during reset of GPU 00000000:C1:00.0: Unknown Error", "half-way"],
  [
    "GPU 00000000:C1:00.0: In use by another client\n1 device did not complete reset successfully, and may be in an unstable state. Please reboot your system.",
    "half-way",
  ],
];
for (const [text, refusal] of TEXTS) {
  test(`judgeResetAnswer() takes "${text.slice(0, 60)}" for ${refusal}`, () => {
    assert.equal(refusalOf(ended(text)), refusal);
  });
}

test("judgeResetAnswer() claims success only with status 0 and a line for each GPU that was named", () => {
  const two = [...ONE, parseBusId("0000:1a:00.0")];
  assert.deepEqual(judgeResetAnswer(ended(DONE, 0), ONE), { kind: "done" });
  assert.equal(refusalOf(ended(DONE, 0), two), "unfinished");
  assert.equal(refusalOf(ended(`GPU 00000000:1A:00.0 was successfully reset.\n${DONE}`, 0), two), "done");
  assert.equal(refusalOf(ended("All done.\n", 0)), "unfinished");
  assert.equal(refusalOf(ended("", 0)), "unfinished");
  assert.equal(refusalOf(ended(DONE, 0), []), "unfinished");
  assert.equal(refusalOf(ended(DONE, 255)), "status");
  assert.equal(
    refusalOf(ended("Not so: GPU 00000000:C1:00.0 was successfully reset.", 0)),
    "unfinished",
  );
  assert.equal(
    refusalOf(ended(`${DONE}Error encountered during reset of GPU 00000000:1A:00.0: x`, 0)),
    "half-way",
  );
});

test("judgeResetAnswer() explains every status of nvidia-smi by itself", () => {
  const statuses = [2, 3, 4, 6, 8, 9, 10, 12, 13, 14, 15, 18, 255, 77];
  const explained = statuses.map((status) => {
    const answer = judgeResetAnswer(ended("", status), ONE);
    return answer.kind === "refused" ? answer.explanation.replace("nvidia-smi ended with status ", "") : "";
  });
  assert.deepEqual(explained, [
    "2: this version does not know an argument or a field",
    "3: this GPU cannot do that",
    "4: this user may not do that",
    "6: there is no such GPU any more",
    "8: a GPU's external power cables are not attached",
    "9: the driver is not loaded",
    "10: the kernel found an interrupt problem with a GPU",
    "12: the driver's library was not found",
    "13: the driver's library lacks a function that this version needs",
    "14: a GPU's infoROM is corrupt",
    "15: a GPU has fallen off the bus or cannot be reached",
    "18: library and kernel module are of different versions",
    "255: it refused or failed, and has no number for why",
    "77: a status that its manual does not list",
  ]);
});

test("judgeResetAnswer() shows words that it does not know, safe to print", () => {
  assert.deepEqual(judgeResetAnswer(ended("\x1b[2Jno\r\nway\n", 3), ONE), {
    kind: "refused",
    refusal: "status",
    explanation: "nvidia-smi ended with status 3: this GPU cannot do that",
    next: "reboot; in a virtual machine, restart that",
    indexes: [],
    text: "\\u{1b}[2Jno\nway",
  });
});

test("judgeResetAnswer() does not know what came of a run that did not end by itself", () => {
  const runs: readonly ToolRun[] = [
    { kind: "not-started", message: "ENOENT" },
    { kind: "timed-out" },
    { kind: "too-long" },
    { kind: "stuck", pid: 4711 },
    { kind: "ended", status: undefined, signal: "SIGKILL", text: DONE },
  ];
  assert.deepEqual(
    runs.map((run) => {
      const answer = judgeResetAnswer(run, ONE);
      return answer.kind === "refused" ? [answer.refusal, answer.explanation] : [];
    }),
    [
      ["not-started", "nvidia-smi cannot be run: ENOENT"],
      ["timed-out", "nvidia-smi gave no answer in time: whether the GPU was reset is not known"],
      ["unfinished", "nvidia-smi wrote more than an answer can be: whether the GPU was reset is not known"],
      ["stuck", "nvidia-smi (PID 4711) waits in the driver and no signal reaches it"],
      ["signal", "nvidia-smi was ended by SIGKILL: whether the GPU was reset is not known"],
    ],
  );
});

test("judgeSetterAnswer() is done with status 0 and no word of a refusal", () => {
  const done = "Disabled persistence mode for GPU 00000000:C1:00.0.\nAll done.\n";
  const warned = "Unable to set persistence mode for GPU 00000000:C1:00.0: Not Supported\n" +
    "Treating as warning and moving on.\nAll done.\n";
  const answers = [
    ended(done, 0),
    ended(warned, 0),
    ended("Terminating early due to previous error: Insufficient Permissions", 4),
    ended("Unable to reset GPU clocks: Unknown Error", 255),
    ended("", 15),
  ].map(judgeSetterAnswer);
  assert.deepEqual(answers.map((answer) => answer.kind === "done" ? "done" : answer.refusal), [
    "done",
    "unsupported",
    "permission",
    "status",
    "status",
  ]);
});
