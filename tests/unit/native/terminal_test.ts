import { test } from "node:test";
import assert from "node:assert/strict";
import { closeSync, openSync } from "node:fs";
import { openLibc } from "../../../lib/native/libc.ts";
import { bindTerminal } from "../../../lib/native/terminal.ts";

const TIOCSWINSZ = 0x5414;

test("TerminalCalls tells a terminal and its size", async () => {
  using libc = await openLibc();
  const { isTerminal, findSize } = bindTerminal(libc);
  const terminal = openSync("/dev/ptmx", "r+");
  assert.deepEqual([isTerminal(terminal), findSize(terminal)], [true, {
    columns: undefined,
    rows: undefined,
  }]);
  const size = new Uint8Array(new Uint16Array([40, 132, 0, 0]).buffer);
  libc.bind("ioctl", { args: ["i32", "u64", "ptr"], returns: "i32" })(terminal, TIOCSWINSZ, size);
  assert.deepEqual(findSize(terminal), { columns: 132, rows: 40 });
  closeSync(terminal);
});

test("TerminalCalls knows what is no terminal", async () => {
  using libc = await openLibc();
  const { isTerminal, findSize } = bindTerminal(libc);
  const file = openSync("/dev/null", "r");
  assert.deepEqual([isTerminal(file), findSize(file), isTerminal(-1)], [false, {
    columns: undefined,
    rows: undefined,
  }, false]);
  closeSync(file);
});
