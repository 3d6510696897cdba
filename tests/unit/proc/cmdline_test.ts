import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../../lib/core/reading.ts";
import { parseCmdline } from "../../../lib/proc/cmdline.ts";

test("parseCmdline() gives each argument, empty ones in between too", () => {
  assert.deepEqual(parseCmdline("python\0-c\0a b\nc\0\0x\0"), known(["python", "-c", "a b\nc", "", "x"]));
});

test("parseCmdline() gives a title without its padding", () => {
  assert.deepEqual(parseCmdline("VLLM::EngineCore\0\0\0\0\0"), known(["VLLM::EngineCore"]));
});

test("parseCmdline() tells a kernel thread's none from a wiped one", () => {
  assert.deepEqual(parseCmdline(""), known([]));
  assert.deepEqual(parseCmdline("\0\0\0"), absent("erased"));
});
