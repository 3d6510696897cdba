import { test } from "node:test";
import assert from "node:assert/strict";
import { lintPython } from "../../../../lib/analysis/lint/lint_python.ts";
import { lintFiles } from "./lint_support.ts";

const SET = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\n';

test("lintPython() follows imports from file to file", () => {
  const findings = lintPython(
    new Map([
      ["train.py", `import helpers\n${SET}`],
      ["helpers.py", "import models.net\n"],
      ["models/__init__.py", ""],
      ["models/net.py", "import torch\nok = torch.cuda.is_available()\n"],
    ]),
  );
  assert.deepEqual(
    findings.map(({ rule, place, fix, related, correctedOrder }) => ({
      rule,
      place,
      fix,
      related,
      correctedOrder,
    })),
    [{
      rule: "set-after-cuda",
      place: { path: "train.py", line: 3, column: 1 },
      fix: "Set it before line 1, or start the program so: CUDA_VISIBLE_DEVICES=1 python train.py",
      related: [
        { place: { path: "train.py", line: 1, column: 1 }, text: "import helpers" },
        { place: { path: "helpers.py", line: 1, column: 1 }, text: "import models.net" },
        { place: { path: "models/net.py", line: 2, column: 6 }, text: "ok = torch.cuda.is_available()" },
      ],
      correctedOrder: ["import os", 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"', "import helpers"],
    }],
  );
});

test("lintPython() finds the setting in one file and the framework in another", () => {
  assert.deepEqual(lintFiles({ "train.py": "import torch\nimport setup_gpu\n", "setup_gpu.py": SET }), [
    "setup_gpu.py:2 set-after-import warning",
  ]);
  assert.deepEqual(lintFiles({ "setup_gpu.py": SET, "train.py": "import setup_gpu\nimport torch\n" }), []);
});

test("lintPython() follows functions, names and stars from file to file", () => {
  const gpu = 'import os\ndef use(n):\n    os.environ["CUDA_VISIBLE_DEVICES"] = str(n)\n';
  const late = "\nimport torch\ntorch.cuda.init()\n";
  for (
    const call of [
      "import gpu",
      "from gpu import use",
      "from gpu import *",
      "import lib.gpu",
      "from lib import gpu",
    ]
  ) {
    const folder = call.includes("lib") ? "lib/" : "";
    const use = call.startsWith("from gpu")
      ? "use(0)"
      : call === "import lib.gpu"
      ? "lib.gpu.use(0)"
      : "gpu.use(0)";
    const files = {
      "a.py": `${call}${late}${use}\n`,
      [`${folder}gpu.py`]: gpu,
      ...(folder ? { "lib/__init__.py": "" } : {}),
    };
    assert.deepEqual(lintFiles(files), [`${folder}gpu.py:3 set-after-cuda error`], call);
  }
});

test("lintPython() resolves relative imports and packages without a file of their own", () => {
  const torch = "import torch\ntorch.cuda.init()\n";
  assert.deepEqual(lintFiles({ "p/__init__.py": "", "p/a.py": `from . import b\n${SET}`, "p/b.py": torch }), [
    "p/a.py:3 set-after-cuda error",
  ]);
  assert.deepEqual(lintFiles({ "p/q/a.py": `from ..b import x\n${SET}`, "p/b.py": torch }), [
    "p/q/a.py:3 set-after-cuda error",
  ]);
  assert.deepEqual(lintFiles({ "src/run.py": `import p.b\n${SET}`, "src/p/b.py": torch }), [
    "src/run.py:3 set-after-cuda error",
  ]);
  assert.deepEqual(lintFiles({ "a.py": `from . import gone\n${SET}` }), ["a.py:3 unread-modules note?"]);
});

test("lintPython() takes a file that is given for one of another package of the same name", () => {
  assert.deepEqual(lintFiles({ "a.py": `import torch\n${SET}`, "torch.py": "" }), []);
});

test("lintPython() survives files that import each other, and checks those that nothing imports", () => {
  assert.deepEqual(lintFiles({ "a.py": `import b\n${SET}`, "b.py": "import a\nimport torch\n" }), [
    "a.py:3 set-after-import warning",
  ]);
  assert.deepEqual(
    lintFiles({
      "main.py": "",
      "a.py": `import b\nimport torch\n${SET}`,
      "b.py": `import a\nimport torch\n${SET.replace('"1"', '"2"')}`,
    }),
    ["a.py:4 set-after-import warning", "b.py:4 set-after-import warning"],
  );
});

test("lintPython() runs what stands under __main__ in the file that a person runs, and in no other", () => {
  const guarded =
    `import torch\nif __name__ == "__main__":\n    import os\n    os.environ["CUDA_VISIBLE_DEVICES"] = "1"\n`;
  assert.deepEqual(lintFiles({ "a.py": guarded }), ["a.py:4 set-after-import warning"]);
  assert.deepEqual(lintFiles({ "b.py": "import a\n", "a.py": guarded }), []);
});
