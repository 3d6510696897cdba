import { test } from "node:test";
import assert from "node:assert/strict";
import { judgeFindings } from "../../../../lib/analysis/lint/finding.ts";
import { lintPython } from "../../../../lib/analysis/lint/lint_python.ts";
import { lint } from "./lint_support.ts";

const SET = 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"';

test("lintPython() says that it cannot tell when a function is called that nothing calls", () => {
  const source = `import os, torch\ndef worker(rank):\n    ${SET}\nmp.spawn(worker)\n`;
  assert.deepEqual(lintPython(new Map([["a.py", source]])), [{
    rule: "set-in-function",
    severity: "warning",
    isDecided: false,
    place: { path: "a.py", line: 3, column: 5 },
    message:
      "CUDA_VISIBLE_DEVICES is set in worker(), and the source does not show when that is called: import torch " +
      "(a.py:1) comes before it, and once CUDA has started it is too late",
    fix: "Set it before line 1, or start the program so: CUDA_VISIBLE_DEVICES=1 python a.py",
    related: [{ place: { path: "a.py", line: 1, column: 1 }, text: "import os, torch" }],
    correctedOrder: ["import os", SET, "import os, torch"],
  }]);
  assert.deepEqual(lint(`import os\ndef f():\n    ${SET}\n`), ["3 set-in-function note?"]);
});

test("lintPython() is sure of what a function does in the wrong order, whenever it is called", () => {
  assert.deepEqual(
    lint(`import os, torch\ndef worker(rank):\n    torch.cuda.set_device(rank)\n    ${SET}\n`),
    [
      "4 set-after-cuda error",
    ],
  );
});

test("lintPython() says that a setting under a condition cannot be decided", () => {
  assert.deepEqual(lint(`import os\nif args.gpu:\n    ${SET}\nimport torch\n`), [
    "3 set-conditionally note?",
  ]);
  assert.deepEqual(lint(`import os\ntry:\n    ${SET}\nfinally:\n    pass\nimport torch\n`), []);
  assert.deepEqual(lint(`import os\nif True:\n    ${SET}\nimport torch\n`), []);
  assert.deepEqual(lint(`import os\nif False:\n    ${SET}\nimport torch\n`), []);
  assert.deepEqual(lint(`import os, torch\nif args.gpu:\n    ${SET}\n`), ["3 set-after-import warning"]);
});

test("lintPython() takes no branch that only type checkers take", () => {
  const source = `import os\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n${SET}\n`;
  assert.deepEqual(lint(source), []);
});

test("lintPython() names modules that it has not read", () => {
  const source = `import os\nimport kornia, mylib.sub\n${SET}\nimport numpy, json\n`;
  assert.deepEqual(
    lintPython(new Map([["a.py", source]])).map(({ rule, isDecided, message, related }) => ({
      rule,
      isDecided,
      message,
      related,
    })),
    [{
      rule: "unread-modules",
      isDecided: false,
      message:
        "CUDA_VISIBLE_DEVICES is set after the import of kornia, mylib, which were not read; if one of them " +
        "starts CUDA, this has no effect",
      related: [{ place: { path: "a.py", line: 2, column: 1 }, text: "import kornia, mylib.sub" }],
    }],
  );
});

test("lintPython() says what the source does not show", () => {
  assert.deepEqual(lint('import os\nos.environ[key] = "1"\n'), ["2 dynamic-environment note?"]);
  assert.deepEqual(lint("import os\nos.environ.update(settings)\n"), ["2 dynamic-environment note?"]);
  assert.deepEqual(lint("import os\nos.environ |= settings\n"), ["2 dynamic-environment note?"]);
  assert.deepEqual(lint("exec(code)\n"), ["1 dynamic-code note?"]);
  assert.deepEqual(lint("eval('1')\n"), ["1 dynamic-code note?"]);
  assert.deepEqual(lint("import importlib\nimportlib.import_module(name)\n"), ["2 dynamic-import note?"]);
  assert.deepEqual(lint("__import__(name)\n"), ["1 dynamic-import note?"]);
  assert.deepEqual(lint("from torch import *\n"), ["1 star-import note?"]);
  assert.deepEqual(lint("from kornia import *\n"), ["1 star-import note?"]);
  assert.deepEqual(lint("from math import *\n"), []);
  assert.deepEqual(lint("import re\nre.compile(x)\nmodel.eval()\n"), []);
});

test("lintPython() follows an import whose name is a constant", () => {
  assert.deepEqual(
    lint(`import os, importlib\nt = importlib.import_module("torch")\nt.cuda.init()\n${SET}\n`),
    [
      "4 set-after-cuda error",
    ],
  );
});

test("lintPython() gives no all-clear for what it could not follow to the end", () => {
  const deep = `import os\nx = ${"-".repeat(400)}1\n`;
  assert.deepEqual(lint(deep), ["2 not-followed note?"]);
  const endless = Array.from(
    { length: 40 },
    (_, n) =>
      `def f${
        n + 1
      }():\n    os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n    f${n}()\n    os.environ["CUDA_VISIBLE_DEVICES"] = "1"\n    f${n}()\n`,
  );
  const source = `import os\ndef f0(): pass\n${endless.join("")}f40()\n`;
  assert.ok(lint(source).some((finding) => finding.endsWith("not-followed note?")));
});

test("judgeFindings() lets a proof outweigh doubt, and doubt outweigh nothing", () => {
  const judge = (source: string) => judgeFindings(lintPython(new Map([["a.py", source]])));
  assert.equal(judge("import torch\n"), "ok");
  assert.equal(judge('import os\nos.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")\n'), "ok");
  assert.equal(judge("exec(code)\n"), "unavailable");
  assert.equal(judge("x = (\n"), "unavailable");
  assert.equal(judge(`import os, torch\n${SET}\nexec(code)\n`), "finding");
});
