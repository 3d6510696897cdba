import { readFileSync } from "node:fs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { lintPython } from "../../../../lib/analysis/lint/lint_python.ts";
import { withoutMagics } from "../../../../lib/analysis/lint/notebook.ts";
import { lint } from "./lint_support.ts";

/** A notebook of these code cells. */
function notebook(...cells: readonly string[]): string {
  return JSON.stringify({
    nbformat: 4,
    metadata: { kernelspec: { language: "python", name: "python3" } },
    cells: cells.map((source) => ({
      cell_type: "code",
      metadata: {},
      outputs: [],
      source: source.split(/(?<=\n)/),
    })),
  });
}

function lintCells(...cells: readonly string[]): readonly string[] {
  return lint(notebook(...cells), "a.ipynb");
}

test("lintPython() reads the cells of a notebook in order, and says which one", () => {
  const path = "tests/fixtures/lint/late_in_notebook.ipynb";
  const text = readFileSync(
    new URL("../../../fixtures/lint/late_in_notebook.ipynb", import.meta.url),
    "utf8",
  );
  assert.deepEqual(lintPython(new Map([[path, text]])), [{
    rule: "set-after-cuda",
    severity: "error",
    isDecided: true,
    place: { path, cell: 3, line: 2, column: 1 },
    message:
      `CUDA_VISIBLE_DEVICES is set after torch.cuda.is_available() (${path} cell 2:1) has started CUDA; CUDA ` +
      "reads it once, as it starts, so this has no effect",
    fix: "Set it before cell 2 line 1, and restart the kernel",
    related: [{
      place: { path, cell: 2, line: 1, column: 20 },
      text: 'device = "cuda" if torch.cuda.is_available() else "cpu"',
    }],
    correctedOrder: [
      "import os",
      'os.environ["CUDA_VISIBLE_DEVICES"] = "1"',
      "import torch",
      'device = "cuda" if torch.cuda.is_available() else "cpu"',
    ],
  }]);
});

test("lintPython() knows the magic that sets a variable", () => {
  assert.deepEqual(lintCells("%env CUDA_VISIBLE_DEVICES=1\n", "import torch\ntorch.cuda.init()\n"), []);
  assert.deepEqual(lintCells("import torch\ntorch.cuda.init()\n", "%env CUDA_VISIBLE_DEVICES=1\n"), [
    "cell 2:1 set-after-cuda error",
  ]);
  assert.deepEqual(
    lintCells("import torch\n%set_env CUDA_VISIBLE_DEVICES 0 1\n"),
    [
      "cell 1:2 value-ends-early warning",
      "cell 1:2 set-after-import warning",
    ].toSorted((a, b) => b < a ? 1 : -1),
  );
  assert.deepEqual(lintCells("%env\n%env CUDA_VISIBLE_DEVICES\nimport torch\n"), []);
});

test("lintPython() knows commands that set a variable for themselves alone", () => {
  assert.deepEqual(lintCells("!export CUDA_VISIBLE_DEVICES=1\n"), ["cell 1:1 set-in-subshell warning"]);
  assert.deepEqual(lintCells("%run train.py\n"), ["cell 1:1 dynamic-code note?"]);
});

test("lintPython() takes IPython's own lines for no errors", () => {
  const lines =
    "%matplotlib inline\n!pip install torch\nfiles = !ls\nout, err = !ls\nx = %magic a\ntorch?\n?torch\nif a:\n    !ls\n" +
    "y = a % b\nz = a != b\nw %= 3\nv = 'a?'\n";
  assert.deepEqual(lintCells(lines), []);
  assert.deepEqual(lintCells("%%bash\nif [ -x a ]; then echo; fi\n"), []);
  assert.deepEqual(
    lintCells("\n%%capture out\nimport os, torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"),
    [
      "cell 1:4 set-after-import warning",
    ],
  );
});

test("lintPython() finds an error in one cell and goes on with the next", () => {
  assert.deepEqual(
    lintCells("import os, torch\nx = (\n", "torch.cuda.init()\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"),
    [
      "cell 1:2 unreadable error?",
      "cell 2:2 set-after-cuda error",
    ],
  );
});

test("lintPython() says what is no notebook that it can read", () => {
  const messages = (text: string) =>
    lintPython(new Map([["a.ipynb", text]])).map(({ rule, isDecided, message }) => ({
      rule,
      isDecided,
      message,
    }));
  assert.deepEqual(messages('{"worksheets": []}'), [{
    rule: "unreadable",
    isDecided: false,
    message:
      "The notebook could not be read: Cannot read the notebook: it has no list of cells; what could be read was " +
      "checked, which is no all-clear",
  }]);
  for (
    const text of [
      "",
      "{",
      "[]",
      "null",
      '{"cells": 1}',
      '{"cells": [], "metadata": {"kernelspec": {"language": "R"}}}',
    ]
  ) {
    assert.deepEqual(messages(text).map(({ rule }) => rule), ["unreadable"], text);
  }
  assert.deepEqual(
    messages('{"cells": [1, null, {"cell_type": "code"}, {"cell_type": "code", "source": 3}]}'),
    [],
  );
});

test("withoutMagics() keeps the length of every line", () => {
  for (const source of ["%a\r\n!b\n?\n", "%%bash\nx\n", "a = !b\r\n", "%", "!", "\n\n", "x?\n"]) {
    assert.deepEqual(
      withoutMagics(source).source.split("\n").map((line) => line.length),
      source.split("\n").map((line) => line.length),
    );
  }
});
