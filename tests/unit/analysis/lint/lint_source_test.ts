import { test } from "node:test";
import assert from "node:assert/strict";
import { lintPython } from "../../../../lib/analysis/lint/lint_python.ts";
import { lint } from "./lint_support.ts";

const BODY = ["import os, torch", "torch.cuda.init()", 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"', ""];

/** The first finding's line and column. */
function placeIn(source: string): readonly number[] {
  return lintPython(new Map([["a.py", source]])).map(({ place }) => [place.line, place.column]).flat();
}

test("lintPython() counts lines and columns whatever ends the lines and begins the file", () => {
  assert.deepEqual(placeIn(BODY.join("\n")), [3, 1]);
  assert.deepEqual(placeIn(BODY.join("\r\n")), [3, 1]);
  assert.deepEqual(placeIn(BODY.join("\r")), [3, 1]);
  assert.deepEqual(placeIn(`\uFEFF${BODY.join("\n")}`), [3, 1]);
  assert.deepEqual(placeIn(BODY.join("\n\f\n")), [5, 1]);
  assert.deepEqual(placeIn(`\f${BODY.join("\n\f")}`), [3, 2]);
  assert.deepEqual(placeIn(`# \u00e9\u{1F600}\ufffd\n${BODY.join("\n")}`), [4, 1]);
  assert.deepEqual(placeIn("import os, torch; torch.cuda.init(); os.environ['CUDA_VISIBLE_DEVICES'] = '1'"), [
    1,
    38,
  ]);
  assert.deepEqual(placeIn(`\uFEFFimport torch, os; os.environ['CUDA_VISIBLE_DEVICES'] = '1'`), [1, 19]);
});

test("lintPython() reads tabs, continued lines and nested blocks", () => {
  const tabs =
    "import os, torch\nif True:\n\tif True:\n\t\ttorch.cuda.init()\n\tos.environ['CUDA_VISIBLE_DEVICES'] = \\\n\t\t'1'\n";
  assert.deepEqual(placeIn(tabs), [5, 2]);
});

test("lintPython() reads Python 2", () => {
  const source = [
    "import os, torch",
    'print "a", 10L, 0777, `x`, ur"\\d"',
    "print >>sys.stderr, 'b',",
    "if x <> 1: print 'c'",
    "try:",
    "    raise E, 'd'",
    "except E, e:",
    "    pass",
    "torch.cuda.init()",
    "os.environ['CUDA_VISIBLE_DEVICES'] = '1'",
    "",
  ].join("\n");
  assert.deepEqual(lint(source), ["10 set-after-cuda error"]);
  assert.deepEqual(lint('exec "import torch"\nexec code in space\n'), [
    "1 dynamic-code note?",
    "2 dynamic-code note?",
  ]);
});

test("lintPython() reads what its parser's grammar lacks", () => {
  const corners = [
    "x = 4. * 3. - 1.e5 + 1_0.",
    "def f():\n    yield\n    x = yield\n    g((yield), [(yield)])",
    "with (open(a) as b, open(c) as d):\n    pass",
    "with open(a) as self.b, lock as (c, d):\n    pass",
    "match x:\n    case A() | b.C(d=E()): pass\n    case [1, *_]: pass",
    "match = case = 1\ncase = f()\nprint = f",
    "for a, *b in c: pass",
    "d = [a for a, *_ in b]",
    "async def f():\n    async with a as b.c: pass",
    "print(a, file=b)\nprint\nx.print()\nexec = 1\nexec(a) if 0 else b".replace("\nexec(a) if 0 else b", ""),
    'f"{a!r:>{w}} {b["c"]}" f\'{d}\'',
    't"{a}"',
    "x: int\ny: str = 'a'",
    "lambda: (yield)",
    "def f[T: int](a: T, /, *, b) -> T: ...",
    "try: pass\nexcept* E: pass",
    "if (n := 10) > 5: pass",
    "x = '''a\nprint \"b\"\n  4.\n'''",
    "\f\nclass A:\n\f    x = 1\n",
  ];
  for (const corner of corners) assert.deepEqual(lint(`${corner}\n`), [], corner);
});

test("lintPython() gives no all-clear for a source that Python would not read", () => {
  const cases: readonly (readonly [string, string])[] = [
    [
      "import os\nif x\n    y\n",
      "2 The source could not be read from line 2 on; what could be read was checked, which is no all-clear",
    ],
    [
      "a = 1\nx = [1,\n2\n",
      "2 The source could not be read from line 2 on: a bracket is opened there and never closed; what could be read was checked, which is no all-clear",
    ],
    [
      "a = 1\nb = '''\nimport torch\n",
      "2 The source could not be read from line 2 on: a string is opened there and never closed; what could be read was checked, which is no all-clear",
    ],
    [
      "a\0b\n",
      "1 The source could not be read from line 1 on: it has a null byte; what could be read was checked, which is no all-clear",
    ],
    [
      "(".repeat(300) + ")".repeat(300),
      "1 The source could not be read from line 1 on: too many brackets are open; what could be read was checked, which is no all-clear",
    ],
  ];
  for (const [source, said] of cases) {
    const findings = lintPython(new Map([["a.py", source]]));
    const unreadable = findings.filter(({ rule }) => rule === "unreadable");
    assert.deepEqual(
      unreadable.map(({ place, message, severity, isDecided }) => ({
        said: `${place.line} ${message}`,
        severity,
        isDecided,
      })),
      [{ said, severity: "error", isDecided: false }],
    );
  }
});

test("lintPython() checks what it can of a source with an error in it", () => {
  assert.deepEqual(
    lint(`import os, torch\ntorch.cuda.init()\nx = = 1\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\n`),
    [
      "3 unreadable error?",
      "4 set-after-cuda error",
    ],
  );
});

test("lintPython() reads a file of a mebibyte in a moment", () => {
  const block =
    "def f_NUMBER(a, b=1.):\n    x = {'k': [a + b, a.b(c)[1:2]]}\n    for i in range(10):\n        g(x, i)\n    return x\n";
  let source = "";
  for (let number = 0; source.length < 2 ** 20; number++) source += block.replace("NUMBER", String(number));
  const begin = performance.now();
  assert.deepEqual(lint(`${source}${BODY.join("\n")}`).length, 1);
  assert.ok(performance.now() - begin < 10_000);
});
