import { test } from "node:test";
import assert from "node:assert/strict";
import { closeSync, openSync } from "node:fs";
import { openLibc } from "../../../lib/native/libc.ts";
import { bindTerminal } from "../../../lib/native/terminal.ts";

const TIOCSWINSZ = 0x5414;

test("TerminalCalls tells a terminal and its width", async () => {
  using libc = await openLibc();
  const { isTerminal, findColumns } = bindTerminal(libc);
  const terminal = openSync("/dev/ptmx", "r+");
  assert.deepEqual([isTerminal(terminal), findColumns(terminal)], [true, undefined]);
  const size = new Uint8Array(new Uint16Array([40, 132, 0, 0]).buffer);
  libc.bind("ioctl", { args: ["i32", "u64", "ptr"], returns: "i32" })(terminal, TIOCSWINSZ, size);
  assert.equal(findColumns(terminal), 132);
  closeSync(terminal);
});

test("TerminalCalls knows what is no terminal", async () => {
  using libc = await openLibc();
  const { isTerminal, findColumns } = bindTerminal(libc);
  const file = openSync("/dev/null", "r");
  assert.deepEqual([isTerminal(file), findColumns(file), isTerminal(-1)], [false, undefined, false]);
  closeSync(file);
});
