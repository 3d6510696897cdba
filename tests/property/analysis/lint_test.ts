import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { judgeFindings } from "../../../lib/analysis/lint/finding.ts";
import { legacyEdits } from "../../../lib/analysis/lint/legacy_python.ts";
import { lintPython } from "../../../lib/analysis/lint/lint_python.ts";
import { encodeLint } from "../../../lib/render/lint_json.ts";
import { renderLint } from "../../../lib/render/lint.ts";
import { assertDocument } from "../../support/documents.ts";

const SET = 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"';

/** Pieces of Python that matter here, pieces that break it, and anything at all. */
const piece = fc.oneof(
  fc.constantFrom(
    "import os",
    "import torch",
    "from torch import cuda as c",
    "torch.cuda.init()",
    SET,
    "x.cuda()",
    "if a:",
    "else:",
    "def f(a, *b, c=1.):",
    "class A(B):",
    "    ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\f",
    "\\\n",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    '"',
    "'''",
    '"""',
    'f"{',
    "#",
    ":",
    ";",
    ",",
    "=",
    ".",
    "*",
    "**",
    "->",
    "@",
    "`",
    "print a",
    "exec b",
    "yield",
    "with a as b:",
    "for x in y:",
    "try:",
    "except E, e:",
    "match x:",
    "case A():",
    "lambda: 0",
    "10L",
    "0x",
    "1.",
    "\0",
    "\uFEFF",
    "async ",
    "del os.environ[a]",
    "os.environ |= {}",
    "A()",
    "f(1, *a, b=c, **d)",
    "global x",
    "return",
    "%env A=1",
    "!ls",
    "x?",
  ),
  fc.string({ unit: "binary", maxLength: 6 }),
);
const source = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));
/** Statements that have nothing to do with GPUs. */
const harmless = fc.array(
  fc.constantFrom(
    "x = 4.",
    "print('a')",
    "import json",
    "def f(a):\n    return a",
    "for i in range(3):\n    pass",
    "class A:\n    y = 1",
    "# import torch",
    "'''import torch'''",
    "with open(a) as b:\n    c = b",
    "try:\n    x = 1\nexcept E:\n    pass",
    "x = [1, 2]",
  ),
  { maxLength: 6 },
).map((statements) => statements.join("\n"));

test("lintPython() and its report answer for any text, with places that exist", () => {
  fc.assert(fc.property(source, fc.constantFrom("a.py", "a.ipynb"), (text, path) => {
    const findings = lintPython(new Map([[path, text]]));
    const lines = text.split(/\r\n|\r|\n/).length;
    for (const { place } of findings) {
      assert.ok(place.line >= 1 && place.line <= lines && place.column >= 1, JSON.stringify(place));
    }
    assertDocument(encodeLint(findings, { files: [path], ending: judgeFindings(findings) }));
    assert.ok(
      !renderLint(findings, { files: 1 }).slice(0, -1).split("\n").some((line) => /\p{Cc}/u.test(line)),
    );
  }));
});

test("lintPython() answers for cells of any text", () => {
  fc.assert(fc.property(fc.array(source, { maxLength: 3 }), (cells) => {
    const notebook = JSON.stringify({ cells: cells.map((text) => ({ cell_type: "code", source: text })) });
    for (const { place } of lintPython(new Map([["a.ipynb", notebook]]))) {
      assert.ok((place.cell ?? 0) <= cells.length);
    }
  }));
});

test("legacyEdits() moves nothing: the text stays as long, and keeps its line ends", () => {
  fc.assert(fc.property(source, (text) => {
    const { text: edited } = legacyEdits(text);
    assert.equal(edited.length, text.length);
    for (let at = 0; at < text.length; at++) {
      if (text[at] === "\n" || text[at] === "\r") assert.equal(edited[at], text[at]);
    }
  }));
});

test("lintPython() never lets a setting after a start of CUDA pass, and never blames one before the framework", () => {
  fc.assert(fc.property(harmless, harmless, harmless, (a, b, c) => {
    const late = `import os\n${a}\nimport torch\n${b}\ntorch.cuda.init()\n${c}\n${SET}\n`;
    assert.equal(judgeFindings(lintPython(new Map([["a.py", late]]))), "finding");
    const early = `import os\n${a}\n${SET}\n${b}\nimport torch\n${c}\ntorch.cuda.init()\n`;
    assert.deepEqual(lintPython(new Map([["a.py", early]])), []);
  }));
});

test("lintPython() never gives an all-clear for a source with a bracket open", () => {
  fc.assert(fc.property(harmless, harmless, fc.constantFrom("(", "[", "{"), (a, b, bracket) => {
    assert.notEqual(judgeFindings(lintPython(new Map([["a.py", `${a}\nx = ${bracket}\n${b}\n`]]))), "ok");
  }));
});

test("lintPython() takes a moment for long texts of any kind", () => {
  fc.assert(
    fc.property(piece, piece, (a, b) => {
      const text = (a + b).repeat(Math.floor(20_000 / (a.length + b.length + 1)));
      const begin = performance.now();
      lintPython(new Map([["a.py", text]]));
      assert.ok(performance.now() - begin < 5000, JSON.stringify([a, b]));
    }),
    { numRuns: 60 },
  );
});
