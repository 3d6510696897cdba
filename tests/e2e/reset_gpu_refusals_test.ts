/** Every way in which nvidia-smi says no, or says nothing that counts: `gpuctl reset-gpu` puts all back and is no success. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import type { SmiOrderAnswer } from "../support/reset_smi.ts";
import { openResetMachines, readReset, type ResetLook, statesOf } from "../support/resetting.ts";

const machines = openResetMachines();
after(() => machines[Symbol.dispose]());
const BUS = "00000000:10:00.0";
const SUCCESS = `GPU ${BUS} was successfully reset.\nAll done.\n`;

function answerTo(kind: string, { steps }: ResetLook): string {
  return steps.find((step) => step.kind === kind)?.answer ?? assert.fail(`${kind} has no answer`);
}

const PERSISTENCE_BACK = [
  "close-helper done",
  "persistence-off done",
  "reset failed",
  "persistence-on done",
  "read-again",
];

/** The texts are those that the programs of drivers 390 to 595 hold. */
const REFUSALS: readonly (SmiOrderAnswer & { readonly name: string; readonly says: RegExp })[] = [
  {
    name: "is in use",
    out:
      `The following GPUs could not be reset:\n  GPU ${BUS}: In use by another client\n1 device is currently being ` +
      "used by one or more other processes (e.g., Fabric Manager, CUDA application).\n",
    status: 255,
    says: /^somebody still uses the GPU/,
  },
  {
    name: "is in use, as older ones say it",
    out: `GPU ${BUS} is currently in use by another process.\n`,
    status: 255,
    says: /^somebody still uses the GPU/,
  },
  {
    name: "is linked to others",
    out:
      "GPUs do not meet the reset criterion (e.g. NVLink connected GPUs must be reset together). Please append the " +
      "following device indexes 1,2\n",
    status: 255,
    says: /^GPUs that NVLink joins have to be reset in one command/,
  },
  {
    name: "is the primary one",
    out: `GPU Reset couldn't run because GPU ${BUS} is the primary GPU.\n`,
    status: 255,
    says: /^the console is on this GPU/,
  },
  {
    name: "is in vGPU mode",
    out: `GPU ${BUS} is in vGPU mode.\n`,
    status: 255,
    says: /^the GPU serves virtual machines/,
  },
  {
    name: "cannot be reset",
    out: `Resetting GPU ${BUS} is not supported.\n`,
    status: 3,
    says: /^this GPU, or this machine, cannot reset it/,
  },
  {
    name: "was reset half way",
    out:
      `Error encountered during reset of GPU ${BUS}: Unknown Error\n1 device did not complete reset successfully, and ` +
      "may be in an unstable state. Please reboot your system.\n",
    status: 255,
    says: /^the reset failed half way/,
  },
  {
    name: "needs more rights",
    out: "Insufficient Permissions\n",
    status: 4,
    says: /^this user may not reset a GPU/,
  },
  {
    name: "is reset by a later version",
    out: "a text of tomorrow\n",
    status: 77,
    says: /^nvidia-smi ended with status 77/,
  },
  { name: "gives no text", status: 255, says: /^nvidia-smi ended with status 255/ },
  {
    name: "is claimed to be done in no words",
    out: "All done.\n",
    says: /^it ended well and did not say that it reset/,
  },
  {
    name: "is another one",
    out: SUCCESS.replace("10", "11"),
    says: /^it ended well and did not say that it reset/,
  },
  {
    name: "is told to be done with a bad status",
    out: SUCCESS,
    status: 1,
    says: /^nvidia-smi ended with status 1/,
  },
  { name: "kills nvidia-smi", before: "kill -9 $$", says: /^nvidia-smi was ended by SIGKILL/ },
  {
    name: "is told in escape codes and broken text",
    out: Uint8Array.from([
      ...new TextEncoder().encode("\u001b[2J\u001b]0;title\u0007\u202e"),
      0xff,
      0xfe,
      0x0a,
    ]),
    status: 255,
    says: /^nvidia-smi ended with status 255/,
  },
  {
    name: "is told at a length that no answer has",
    before: "head -c 3000000 /dev/zero | tr '\\0' x",
    status: 255,
    says: /^nvidia-smi wrote more than an answer can be/,
  },
];

for (const { name, says, ...answer } of REFUSALS) {
  test(
    `gpuctl reset-gpu puts persistence mode back and ends with 6 when the GPU ${name}`,
    NEEDS_ROOT,
    async () => {
      using machine = machines.make({ answers: { r: answer } });
      const reset = readReset(await machine.run(["0", "--yes", "--json"]), 6);
      assert.equal(reset.outcome, "failed");
      assert.deepEqual(
        statesOf(reset).map((step) => step.replace(/^(read-again).*/, "$1")),
        PERSISTENCE_BACK,
      );
      assert.match(answerTo("reset", reset), says);
      // deno-lint-ignore no-control-regex -- none may get through.
      assert.doesNotMatch(answerTo("reset", reset), /[\u0000-\u0009\u000b-\u001f\u007f\u202e]/);
      assert.deepEqual(machine.persistence(), ["1"]);
    },
  );
}

interface Seen {
  readonly file: string;
  readonly status: number;
  readonly busIds: readonly string[];
}

const FIXTURES = new URL("../fixtures/reset/", import.meta.url);
const SEEN: readonly Seen[] = JSON.parse(readFileSync(new URL("manifest.json", FIXTURES), "utf8"));

for (const { file, status, busIds } of SEEN) {
  test(
    `gpuctl reset-gpu takes ${file}, which a machine was seen to say, as it was meant`,
    NEEDS_ROOT,
    async () => {
      const out = readFileSync(new URL(file, FIXTURES));
      using machine = machines.make({
        scenario: { gpus: busIds.map((bus) => ({ bus: bus.toUpperCase() })) },
        answers: { r: { out, status, takesEffect: status === 0 } },
      });
      const reset = readReset(await machine.run(["0", "--yes", "--json"]), status === 0 ? 0 : 6);
      assert.equal(reset.outcome, status === 0 ? "done" : "failed");
      assert.deepEqual(machine.persistence(), busIds.map(() => "1"));
    },
  );
}
