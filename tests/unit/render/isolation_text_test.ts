import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeIsolation } from "../../../lib/analysis/isolation.ts";
import { renderIsolation } from "../../../lib/render/isolation_text.ts";
import { type CaseSpec, isolationCase } from "../analysis/isolation_case.ts";

const render = (spec: CaseSpec, simulated = false) =>
  renderIsolation(judgeIsolation(isolationCase(spec)), { simulated });
const LOOKS = "2 looks were taken, at most 100 ms apart; a context that lived shorter may not have been seen";

test("renderIsolation() begins with the answer, and tells of a simulated server before that", () => {
  const on1 = { contexts: [{ pid: 11 }], usedMib: 520 };
  assert.equal(
    render({ looks: [[{}, on1], [{}, on1]], processes: [{ pid: 11 }] }, true),
    [
      "SIMULATED SERVER: no real GPU is behind these numbers",
      "ISOLATED: the job was given GPU 1, and had no context elsewhere",
      "",
      "NOTES",
      `  ${LOOKS}`,
      "",
    ].join("\n"),
  );
});

test("renderIsolation() gives each violation its cause and its fix", () => {
  const on0 = { contexts: [{ pid: 11 }], usedMib: 520 };
  const text = render({
    looks: [[on0, {}], [on0, {}]],
    processes: [{ pid: 11, environment: { CUDA_VISIBLE_DEVICES: "0" } }],
  });

  assert.deepEqual(text.split("\n").slice(0, 5), [
    "VIOLATED: the job was given GPU 1; 1 process of it had a context out of place, on GPU 0",
    "",
    "PID 11 (python) had 520 MiB on GPU 0: variable-names-it",
    '  why: CUDA_VISIBLE_DEVICES="0" names this GPU, which is not one that the job was given',
    "  fix: Start the job with CUDA_VISIBLE_DEVICES=GPU-7c4c2710-f091-268f-9db0-e507a579f89f",
  ]);
});

test("renderIsolation() names what could not be seen, and what is suspicious about it", () => {
  const grown = { list: "unknown", usedMib: 700 } as const;
  assert.equal(
    render({ looks: [[grown, {}], [grown, {}]] }),
    [
      "NOT PROVEN: the job was given GPU 1; whether it kept to that could not be seen",
      "",
      "SUSPICIOUS",
      "  GPU 0 had up to 700 MiB more in use than before the job, and the driver does not say whose",
      "",
      "NOT SEEN",
      "  GPU 0: its processes were not all listed: not supported here (WSL)",
      "",
      "NOTES",
      "  The job had no context on the GPUs that it was given, so it was not put to the test",
      `  ${LOOKS}`,
      "",
    ].join("\n"),
  );
});

test("renderIsolation() names a threshold, and no GPU where none was given", () => {
  const on0 = { contexts: [{ pid: 11 }], usedMib: 520 };
  const text = render({ allowed: [], thresholdMib: 100, looks: [[on0, {}]], processes: [{ pid: 11 }] });

  assert.equal(
    text.split("\n")[0],
    "VIOLATED: the job was given no GPU; 1 process of it had a context of more than 100 MiB out of place, on GPU 0",
  );
});
