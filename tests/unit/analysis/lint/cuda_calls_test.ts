import { readFileSync } from "node:fs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { lint } from "./lint_support.ts";

const TABLE = new URL("../../../fixtures/lint/cuda_start_measured.tsv", import.meta.url);

/** Starts CUDA in the table, and is known to in no way that shows in the source: it depends on what the call is given. */
const NOT_SEEN: ReadonlySet<string> = new Set([
  "len(numba.cuda.gpus)",
  "list(torch.utils.data.DataLoader([1.0],pin_memory=True))",
  'torch.empty(1).type("torch.cuda.FloatTensor")',
  "torch.empty(1,pin_memory=True)",
  "torch.optim.Adam(torch.nn.Linear(1,1).parameters()).step()",
  "torch.cuda.Event().record()",
  "cupy.get_default_memory_pool().free_all_blocks()",
]);

interface Row {
  readonly module: string;
  readonly statement: string;
  readonly result: string;
}

function readRows(): readonly Row[] {
  const lines = readFileSync(TABLE, "utf8").split("\n").filter((line) =>
    line !== "" && !line.startsWith("#")
  );
  return lines.map((line) => {
    const [module = "", statement = "", result = ""] = line.split("\t");
    return { module, statement, result };
  });
}

function findTiming({ module, statement }: Row): readonly string[] {
  const source = `import ${module}\n${statement}\nimport os\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\n`;
  return lint(source).filter((finding) => finding.startsWith("4 set-after-cuda"));
}

test("lintPython() takes nothing for a start of CUDA that did not start it when it was tried", () => {
  const wrong = readRows().filter(({ result }) => result === "idle")
    .filter((row) => findTiming(row).some((finding) => finding.endsWith("error")));
  assert.deepEqual(wrong, []);
});

test("lintPython() knows the calls and imports that started CUDA when they were tried", () => {
  const missed = readRows().filter(({ result, statement }) => result === "reads" && !NOT_SEEN.has(statement))
    .filter((row) => findTiming(row).length === 0);
  assert.deepEqual(missed, []);
});
