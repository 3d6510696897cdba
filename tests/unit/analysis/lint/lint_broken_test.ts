import { test } from "node:test";
import assert from "node:assert/strict";
import { lint } from "./lint_support.ts";

const LATE = 'import os, torch\ntorch.cuda.init()\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\n';

test("lintPython() takes out the statement that cannot be read, and checks the rest", () => {
  const broken: readonly (readonly [string, number])[] = [
    ["x = = 1\n", 1],
    ["x = {\n    'a': 1\n    'b': 2,\n}\n", 3],
    ["x = [1,\n", 1],
    ["x = f(1,\n2\n", 1],
    ["if x\n    y = 1\n    z = 2\n", 1],
    ["while x y:\n    y = 1\n", 1],
    ["def f(:\n    return 1\n", 1],
    ["def f():\n", 1],
    ["if x:\ny = 1\n", 1],
    ["if x:\n    y = = 1\n", 2],
    ["a = 1\n    x = 1\n", 2],
    ["    x = 1\n", 1],
    ["if a:\n        x = 1\n    y = 1\n", 3],
    ["class A:\n    def f(self):\n        return = 1\n    def g(self): pass\n", 3],
    ["x = '''a\n", 1],
    ["x = `a\n", 1],
    ["a\0b\n", 1],
    ["x = 1 +\n", 1],
    ["\tx = = 1\r\n\ty = 1\r\n", 1],
  ];
  for (const [code, line] of broken) {
    const lines = code.split("\n").length - 1;
    const found = lint(`${code}${LATE}`);
    assert.ok(found.some((finding) => finding.endsWith("unreadable error?")), `${code}: ${found}`);
    assert.ok(found.includes(`${lines + 3} set-after-cuda error`), `${code}: ${found}`);
    assert.ok(
      Number(found.find((finding) => finding.endsWith("unreadable error?"))?.split(" ")[0]) >= line,
      `${code}: ${found}`,
    );
  }
});

test("lintPython() checks what stands before the rest that it gives up", () => {
  const prose = "This is no program at all, and goes on.\n".repeat(30);
  assert.deepEqual(lint(`${LATE}${prose}`), ["3 set-after-cuda error", "4 unreadable error?"]);
  assert.deepEqual(lint(prose), ["1 unreadable error?"]);
});
