import { test } from "node:test";
import assert from "node:assert/strict";
import { lintPython } from "../../../lib/analysis/lint/lint_python.ts";
import { renderLint } from "../../../lib/render/lint.ts";

test("renderLint() prints findings as a compiler does, with the fix and the corrected order", () => {
  const source = [
    "import torch",
    "from os import environ",
    "torch.cuda.init()",
    "def use(gpu):",
    '    environ["CUDA_VISIBLE_DEVICES"] = gpu',
    "use('1')",
    "exec(code)",
    "",
  ].join("\n");
  assert.equal(
    renderLint(lintPython(new Map([["train.py", source]])), { files: 1 }),
    `train.py:5:5: error[set-after-cuda] CUDA_VISIBLE_DEVICES is set after torch.cuda.init() (train.py:3) has started CUDA; \
CUDA reads it once, as it starts, so this has no effect
    train.py:3:1: torch.cuda.init()
  fix: Set it before line 3, or start the program so: CUDA_VISIBLE_DEVICES=... python train.py
      from os import environ
      environ["CUDA_VISIBLE_DEVICES"] = gpu
      import torch
      torch.cuda.init()
train.py:7:1: note[dynamic-code] Code that is made at run time runs here; what it imports and sets cannot be told
  fix: Check that code by itself, or start the program with CUDA_VISIBLE_DEVICES already set
1 error, 1 note in 1 file; not everything could be decided
`,
  );
});

test("renderLint() says that nothing was found, and in how much", () => {
  assert.equal(renderLint([], { files: 2 }), "Nothing found in 2 files\n");
});

test("renderLint() names the cell of a notebook", () => {
  const notebook = JSON.stringify({
    cells: [{ cell_type: "code", source: "import torch\n%env CUDA_VISIBLE_DEVICES=1" }],
  });
  assert.equal(
    renderLint(lintPython(new Map([["a.ipynb", notebook]])), { files: 1 }).split("\n")[0],
    "a.ipynb:cell 1:2:1: warning[set-after-import] CUDA_VISIBLE_DEVICES is set after import torch (a.ipynb cell 1:1); it " +
      "works today only because nothing has started CUDA yet, and any import or call in between that does makes it void",
  );
});

test("renderLint() shows control characters of the source and its name instead of passing them on", () => {
  const source = 'import torch, os\nos.environ["CUDA_VISIBLE_DEVICES"] = "\u001b[2J\u202e"\n';
  const text = renderLint(lintPython(new Map([["a\u001b[31m.py", source]])), { files: 1 });
  assert.ok(!text.includes("\u001b") && !text.includes("\u202e"));
  assert.ok(text.includes('os.environ["CUDA_VISIBLE_DEVICES"] = "\\u{1b}[2J\\u{202e}"'));
});
