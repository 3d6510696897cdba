import { test } from "node:test";
import assert from "node:assert/strict";
import { lintPython } from "../../../../lib/analysis/lint/lint_python.ts";
import { lint } from "./lint_support.ts";

/** What is said of a value, as `rule severity: message`. */
function judge(value: string, variable = "CUDA_VISIBLE_DEVICES"): readonly string[] {
  return lintPython(new Map([["a.py", `import os\nos.environ["${variable}"] = ${value}\n`]]))
    .map(({ rule, severity, message }) => `${rule} ${severity}: ${message}`);
}

test("lintPython() has nothing to say of values that CUDA reads to their end", () => {
  const good = [
    '"0"',
    '"0,1"',
    '" 0, 1"',
    '""',
    '"-1"',
    '"NoDevFiles"',
    '"GPU-8932f937"',
    "str(3)",
    '",".join(["0", "1"])',
  ];
  for (const value of [...good, "gpu", 'f"{gpu}"', "args.gpu", "str(gpu)", '"%d" % 1', "r'0'", "'0' ',1'"]) {
    assert.deepEqual(judge(value), [], value);
  }
});

test("lintPython() says where CUDA stops reading", () => {
  assert.deepEqual(judge('"0 1"'), [
    'value-ends-early warning: CUDA reads "0 1" only up to " 1", and ignores that',
  ]);
  assert.deepEqual(judge('"0,GPU-1"'), [
    'value-ends-early warning: CUDA stops reading "0,GPU-1" at "GPU-1", as numbers and UUIDs do not mix; what follows has no effect',
  ]);
  assert.deepEqual(judge('"0,,1"'), [
    'value-ends-early warning: CUDA stops reading "0,,1" at "", as it is empty; what follows has no effect',
  ]);
  assert.deepEqual(judge('"0,-1,1"'), [
    'value-ends-early warning: CUDA stops reading "0,-1,1" at "-1", as it is negative; what follows has no effect',
  ]);
  assert.deepEqual(judge('"cuda:0"'), [
    'value-ends-early error: CUDA shows no GPU at all for "cuda:0": it stops reading at "cuda:0", as it is neither a number nor a UUID that begins with GPU- or MIG-',
  ]);
  assert.deepEqual(judge("str(None)"), [
    'value-ends-early error: CUDA shows no GPU at all for "None": it stops reading at "None", as it is neither a number nor a UUID that begins with GPU- or MIG-',
  ]);
});

test("lintPython() says what CUDA refuses or ignores", () => {
  assert.deepEqual(judge('"1,1"'), [
    'value-refused error: "1,1" names a GPU twice, so CUDA gives none and fails with CUDA_ERROR_INVALID_DEVICE',
  ]);
  assert.deepEqual(judge(`"0${",1".repeat(1312)}"`), [
    "value-ignored error: The value is longer than 2624 bytes, so CUDA ignores it and shows every GPU",
  ]);
  assert.deepEqual(judge('"pci_bus_id"', "CUDA_DEVICE_ORDER"), [
    'value-refused error: CUDA_DEVICE_ORDER="pci_bus_id" makes every CUDA call fail: CUDA knows PCI_BUS_ID and FASTEST_FIRST, in capitals',
  ]);
  assert.deepEqual(judge('"PCI_BUS_ID"', "CUDA_DEVICE_ORDER"), []);
});

test("lintPython() says that an environment holds text only", () => {
  const types = [["0", "int"], ["1.", "float"], ["None", "NoneType"], ["True", "bool"], ["[0, 1]", "list"], [
    "0, 1",
    "list",
  ], [
    "{'a': 1}",
    "dict",
  ]];
  for (const [value = "", type] of types) {
    assert.deepEqual(judge(value), [
      `value-not-text error: CUDA_VISIBLE_DEVICES is given a value of type ${type}; Python raises TypeError, as an environment holds text only`,
    ]);
  }
});

test("lintPython() proposes to start the program with a value only if that works", () => {
  const source = 'import os, torch\nos.environ["CUDA_VISIBLE_DEVICES"] = ';
  const fixFor = (value: string) => lintPython(new Map([["a.py", source + value]]))[0]?.fix;
  assert.equal(
    fixFor('""'),
    "Set it before line 1, or start the program so: CUDA_VISIBLE_DEVICES='' python a.py",
  );
  assert.equal(
    fixFor('"1,1"'),
    "Set it before line 1, or start the program so: CUDA_VISIBLE_DEVICES=... python a.py",
  );
  assert.equal(
    fixFor("gpu"),
    "Set it before line 1, or start the program so: CUDA_VISIBLE_DEVICES=... python a.py",
  );
});

test("lintPython() says that setdefault yields to a value from outside", () => {
  assert.deepEqual(lint('import os\nos.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")\nimport torch\n'), [
    "2 set-if-missing note",
  ]);
  assert.deepEqual(
    lint('import os, torch\nos.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")\n'),
    ["2 set-after-import warning", "2 set-if-missing note"],
  );
});

test("lintPython() knows variables that were taken for one that CUDA reads", () => {
  assert.deepEqual(lint('import os\nos.environ["CUDA_VISIBLE_DEVICE"] = "0"\n'), [
    "2 wrong-variable warning",
  ]);
  assert.deepEqual(lint('import os\nos.environ["cuda_visible_devices"] = "0"\n'), [
    "2 wrong-variable warning",
  ]);
  assert.deepEqual(lint('import os\nos.environ["NVIDIA_VISIBLE_DEVICES"] = "0"\n'), [
    "2 wrong-variable warning",
  ]);
});

test("lintPython() knows settings that never reach the process", () => {
  assert.deepEqual(lint('import os\nos.system("export CUDA_VISIBLE_DEVICES=0")\n'), [
    "2 set-in-subshell warning",
  ]);
  assert.deepEqual(lint('import subprocess\nsubprocess.run("export CUDA_VISIBLE_DEVICES=0", shell=True)\n'), [
    "2 set-in-subshell warning",
  ]);
  assert.deepEqual(lint('import os\nos.system("CUDA_VISIBLE_DEVICES=0 python a.py")\n'), []);
  assert.deepEqual(lint('import os\nos.system("export CUDA_VISIBLE_DEVICES=0 && python a.py")\n'), []);
  assert.deepEqual(lint('import os\nos.environ = dict(os.environ, CUDA_VISIBLE_DEVICES="0")\n'), [
    "2 environment-replaced warning",
  ]);
});
