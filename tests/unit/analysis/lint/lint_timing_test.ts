import { test } from "node:test";
import assert from "node:assert/strict";
import { lintPython } from "../../../../lib/analysis/lint/lint_python.ts";
import { lint } from "./lint_support.ts";

const SET = 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"';

test("lintPython() says that a setting after a call that started CUDA has no effect", () => {
  const source = [
    "import os",
    "import torch",
    "ok = torch.cuda.is_available()",
    'os.environ["CUDA_VISIBLE_DEVICES"] = "1"',
    "",
  ].join("\n");
  assert.deepEqual(lintPython(new Map([["jobs/my train.py", source]])), [{
    rule: "set-after-cuda",
    severity: "error",
    isDecided: true,
    place: { path: "jobs/my train.py", line: 4, column: 1 },
    message:
      "CUDA_VISIBLE_DEVICES is set after torch.cuda.is_available() (jobs/my train.py:3) has started CUDA; " +
      "CUDA reads it once, as it starts, so this has no effect",
    fix: "Set it before line 3, or start the program so: CUDA_VISIBLE_DEVICES=1 python 'jobs/my train.py'",
    related: [{
      place: { path: "jobs/my train.py", line: 3, column: 6 },
      text: "ok = torch.cuda.is_available()",
    }],
    correctedOrder: [
      "import os",
      'os.environ["CUDA_VISIBLE_DEVICES"] = "1"',
      "import torch",
      "ok = torch.cuda.is_available()",
    ],
  }]);
});

test("lintPython() says that a setting after the import of a framework works by luck", () => {
  const source = "import torch, os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n";
  assert.deepEqual(lintPython(new Map([["train.py", source]])), [{
    rule: "set-after-import",
    severity: "warning",
    isDecided: true,
    place: { path: "train.py", line: 2, column: 1 },
    message:
      "CUDA_VISIBLE_DEVICES is set after import torch (train.py:1); it works today only because nothing has " +
      "started CUDA yet, and any import or call in between that does makes it void",
    fix: "Set it before line 1, or start the program so: CUDA_VISIBLE_DEVICES=0 python train.py",
    related: [{ place: { path: "train.py", line: 1, column: 1 }, text: "import torch, os" }],
    correctedOrder: ["import os", "os.environ['CUDA_VISIBLE_DEVICES'] = '0'", "import torch, os"],
  }]);
});

test("lintPython() finds nothing where the variable is set before the framework", () => {
  assert.deepEqual(lint(`import os\n${SET}\nimport torch\ntorch.cuda.init()\n`), []);
  assert.deepEqual(lint("import torch\ntorch.cuda.init()\n"), []);
  assert.deepEqual(lint(""), []);
});

test("lintPython() knows every way to change the environment", () => {
  const ways = [
    SET,
    'os.environ[b"x".decode()], os.environ["CUDA_VISIBLE_DEVICES"] = "0", "1"',
    'os.environ["CUDA_VISIBLE_DEVICES"]: str = "1"',
    'a = os.environ["CUDA_VISIBLE_DEVICES"] = "1"',
    'os.environ["CUDA_VISIBLE_DEVICES"] += ",1"',
    'os.environ["CUDA_" + "VISIBLE_" "DEVICES"] = "1"',
    'os.environ[f"CUDA_VISIBLE_DEVICES"] = "1"',
    'KEY = "CUDA_VISIBLE_DEVICES"; os.environ[KEY] = "1"',
    'os.environ.__setitem__("CUDA_VISIBLE_DEVICES", "1")',
    'os.environ.update({"A": "b", "CUDA_VISIBLE_DEVICES": "1"})',
    'os.environ.update(CUDA_VISIBLE_DEVICES="1")',
    'os.environ.update(dict(CUDA_VISIBLE_DEVICES="1"))',
    'os.environ |= {"CUDA_VISIBLE_DEVICES": "1"}',
    'extra = {"CUDA_VISIBLE_DEVICES": "1"}; os.environ.update(**extra)',
    'os.putenv("CUDA_VISIBLE_DEVICES", "1")',
    'os.environb[b"CUDA_VISIBLE_DEVICES"] = b"1"',
    'del os.environ["CUDA_VISIBLE_DEVICES"]',
    'os.environ.pop("CUDA_VISIBLE_DEVICES", None)',
    'os.unsetenv("CUDA_VISIBLE_DEVICES")',
    "os.environ.clear()",
    'env = os.environ; env["CUDA_VISIBLE_DEVICES"] = "1"',
    'from os import environ; environ["CUDA_VISIBLE_DEVICES"] = "1"',
    'from os import environ as e, path; e["CUDA_VISIBLE_DEVICES"] = "1"',
    'import os as system; system.environ["CUDA_VISIBLE_DEVICES"] = "1"',
    'from os import *; environ["CUDA_VISIBLE_DEVICES"] = "1"',
    'from os import putenv; putenv("CUDA_VISIBLE_DEVICES", "1")',
    '__import__("os").environ["CUDA_VISIBLE_DEVICES"] = "1"',
  ];
  for (const way of ways) {
    const found = lint(`import os, torch\ntorch.cuda.init()\n${way}\n`);
    assert.ok(found.includes("3 set-after-cuda error"), `${way}: ${found}`);
  }
});

test("lintPython() leaves alone what only looks like the environment", () => {
  const others = [
    'env = os.environ.copy(); env["CUDA_VISIBLE_DEVICES"] = "1"',
    'env = dict(os.environ, CUDA_VISIBLE_DEVICES="1")',
    'subprocess.run(["x"], env={**os.environ, "CUDA_VISIBLE_DEVICES": "1"})',
    'print(os.environ["CUDA_VISIBLE_DEVICES"])',
    'if os.environ.get("CUDA_VISIBLE_DEVICES") == "1": pass',
    'CUDA_VISIBLE_DEVICES = "1"',
    "# os.environ['CUDA_VISIBLE_DEVICES'] = '1'",
    "'''\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n'''",
    'os.environ["OMP_NUM_THREADS"] = "1"',
    'os.environ["HIP_VISIBLE_DEVICES"] = "1"',
    'os.environ["CUDA_LAUNCH_BLOCKING"] = "1"',
  ];
  for (const other of others) {
    assert.deepEqual(lint(`import os, torch, subprocess\ntorch.cuda.init()\n${other}\n`), [], other);
  }
});

test("lintPython() judges CUDA_DEVICE_ORDER and a removal as it judges a setting", () => {
  const source = 'import os, jax\njax.devices()\nos.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"\n' +
    'del os.environ["CUDA_VISIBLE_DEVICES"]\n';
  const [order, removal] = lintPython(new Map([["a.py", source]]));
  assert.equal(
    order?.message,
    "CUDA_DEVICE_ORDER is set after jax.devices() (a.py:2) has started CUDA; CUDA reads it once, as it starts, so this has no effect",
  );
  assert.equal(
    removal?.fix,
    "Remove it before line 2, or start the program so: env -u CUDA_VISIBLE_DEVICES python a.py",
  );
});

test("lintPython() does not mind the same value again", () => {
  assert.deepEqual(lint(`import os\n${SET}\nimport torch\ntorch.cuda.init()\n${SET}\n`), []);
  assert.deepEqual(lint(`import os\n${SET}\nimport torch\nos.environ["CUDA_VISIBLE_DEVICES"] = "2"\n`), [
    "4 set-after-import warning",
  ]);
});

test("lintPython() follows aliases of frameworks and of their functions", () => {
  const starts = [
    "import torch as t\nt.cuda.set_device(0)",
    "from torch import cuda\ncuda.init()",
    "from torch.cuda import is_available as ok\nok()",
    "import torch\nc = torch.cuda\nc.synchronize()",
    "import torch\nx = torch.zeros(3).cuda()",
    'import torch\nnet = build()\nnet.to("cuda:1")',
    'import torch\ndevice = torch.device("cuda")\nnet.to(device)',
    'import torch\nx = torch.zeros(3, device="cuda")',
    'import torch\ndevice = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
    "import torch\n@torch.compile\ndef f(): pass",
    "import jax.numpy as jnp\nx = jnp.ones(3)",
    "from jax import random\nkey = random.PRNGKey(0)",
    "import tensorflow as tf\ngpus = tf.config.list_physical_devices('GPU')",
    "import tensorflow.compat.v1 as tf\nwith tf.Session() as s: pass",
    "from tensorflow.python.client import device_lib\ndevice_lib.list_local_devices()",
    "import cupy as cp\na = cp.array([1])",
    "from numba import cuda\n@cuda.jit('void(int32)')\ndef f(x): pass",
    "import pycuda.autoinit",
    "from torch.utils import cpp_extension",
    "import torch_geometric.nn",
    "import torch\nwith torch.autocast('cuda'): pass",
    "import torch\nif ok and torch.cuda.is_available(): pass\ntorch.cuda.init()",
    "import torch\nx = [torch.cuda.init() for _ in a]\ntorch.cuda.init()",
  ];
  for (const start of starts) {
    const found = lint(`import os\n${start}\n${SET}\n`);
    assert.ok(found.some((line) => line.endsWith("set-after-cuda error")), `${start}: ${found}`);
  }
});

test("lintPython() warns, and is not sure, where CUDA may have been started", () => {
  const maybe = [
    "import torch\nif args.gpu:\n    torch.cuda.init()",
    "import torch\nfor x in loader:\n    x.cuda()",
    "import torch\nn = torch.cuda.device_count()",
    "import torch\nnet.to(device)",
    "import deepspeed",
    "import torch\nok = debug and torch.cuda.is_available()",
    "import torch\ntry:\n    work()\nexcept RuntimeError:\n    torch.cuda.init()",
    "import torch\nmatch mode:\n    case 'gpu': torch.cuda.init()",
  ];
  for (const start of maybe) {
    const found = lint(`import os\n${start}\n${SET}\n`);
    assert.ok(found.some((line) => line.endsWith("set-after-cuda warning")), `${start}: ${found}`);
  }
});

test("lintPython() is sure where every branch starts CUDA, and where only one is taken", () => {
  const both = "import torch\nif a:\n    torch.cuda.init()\nelse:\n    x.cuda()";
  assert.deepEqual(lint(`import os\n${both}\n${SET}\n`), ["7 set-after-cuda error"]);
  const exclusive = `import os\nif a:\n    import torch\nelse:\n    ${SET}\n`;
  assert.deepEqual(lint(exclusive), ["5 set-conditionally note?"]);
  const attempt = "try:\n    import torch\n    torch.cuda.init()\nexcept ImportError:\n    torch = None";
  assert.deepEqual(lint(`import os\n${attempt}\n${SET}\n`), ["7 set-after-cuda error"]);
  const optional = "try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.cuda.init()";
  assert.deepEqual(lint(`import os\n${optional}\n${SET}\n`), ["7 set-after-cuda error"]);
});

test("lintPython() takes into account that a loop runs again", () => {
  const source =
    `import os, torch\nfor gpu in gpus:\n    os.environ["CUDA_VISIBLE_DEVICES"] = gpu\n    net.cuda()\n`;
  assert.deepEqual(lint(source), ["3 set-after-cuda error"]);
});

test("lintPython() follows calls into functions, methods and constructors", () => {
  const within = [
    ["def start():\n    torch.cuda.init()\nstart()", "error"],
    [
      "class T:\n    def __init__(self):\n        self.setup()\n    def setup(self):\n        torch.cuda.init()\nT()",
      "error",
    ],
    ["class T:\n    def run(self): torch.cuda.init()\nt = T()\nt.run()", "error"],
    ["def a():\n    def b(): torch.cuda.init()\n    b()\na()", "error"],
    ["def f(n):\n    f(n - 1)\n    torch.cuda.init()\nf(3)", "error"],
    ["def start():\n    torch.cuda.init()", "warning"],
  ];
  for (const [code, severity] of within) {
    const found = lint(`import os, torch\n${code}\n${SET}\n`);
    assert.ok(found.at(-1)?.endsWith(` ${severity}`), `${code}: ${found}`);
  }
  const main =
    `import os, torch\ndef main():\n    torch.cuda.init()\n    ${SET}\nif __name__ == "__main__":\n    main()\n`;
  assert.deepEqual(lint(main), ["4 set-after-cuda error"]);
});

test("lintPython() names the first thing that surely started CUDA, and prefers it to one that may have", () => {
  const startOf = (...lines: readonly string[]) =>
    lintPython(new Map([["a.py", ["import os, torch", ...lines, SET, ""].join("\n")]])).map(({ related }) =>
      related.at(-1)?.text
    );
  assert.deepEqual(startOf("torch.cuda.init()", "x.cuda()"), ["torch.cuda.init()"]);
  assert.deepEqual(startOf("torch.cuda.device_count()", "torch.cuda.init()", "x.cuda()"), [
    "torch.cuda.init()",
  ]);
  assert.deepEqual(startOf("torch.cuda.device_count()", "net.to(device)"), ["torch.cuda.device_count()"]);
});
