import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import process from "node:process";
import { openLibrary } from "../../../lib/native/dlopen.ts";
import { cString, ERRNO, openLibc } from "../../../lib/native/libc.ts";

const NO_ARGUMENTS = { args: [], returns: "i32" } as const;

test("openLibc() opens the library that this machine's programs use", async () => {
  using libc = await openLibc();
  assert.equal(libc.bind("getpid", NO_ARGUMENTS)(), process.pid);
});

test("Libc.find() gives nothing for a function that is not there, and bind() says so", async () => {
  using libc = await openLibc();
  assert.equal(libc.find("no_such_function", NO_ARGUMENTS), undefined);
  assert.throws(() => libc.bind("no_such_function", NO_ARGUMENTS), {
    message: `Cannot call no_such_function: ${libc.path} does not export it`,
  });
});

test("Libc.bind() types a function by its signature", async () => {
  using libc = await openLibc();
  const isatty = libc.bind("isatty", { args: ["i32"], returns: "i32" });
  assert.equal(isatty(-1), 0);
  // @ts-expect-error: nothing else is taken
  const wrong: (text: string) => number = isatty;
  assert.equal(wrong, isatty);
});

test("Libc.errno() gives the number of the last failure", async () => {
  using libc = await openLibc();
  const open = libc.bind("open", { args: ["ptr", "i32"], returns: "i32" });
  assert.deepEqual([open(cString("/no/such/file"), 0), libc.errno()], [-1, ERRNO.ENOENT]);
  assert.deepEqual([open(cString("/dev/null/x"), 0), libc.errno()], [-1, 20]);
});

test("Libc.bindSyscall() makes a call by its number", async () => {
  using libc = await openLibc();
  const list = libc.bindSyscall("getdents64", { args: ["i32", "ptr", "u32"], returns: "i32" });
  assert.deepEqual([list(-1, new Uint8Array(64), 64), libc.errno()], [-1, ERRNO.EBADF]);
});

test("openLibrary() gives an address back whole", async () => {
  using libc = await openLibc();
  const copy = libc.bind("memcpy", { args: ["ptr", "ptr", "u64"], returns: "u64" });
  const address = copy(new Uint8Array(4096), new Uint8Array(1), 1);
  const ranges = readFileSync("/proc/self/maps", "utf8").matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm);
  assert.equal(
    [...ranges].some(([, start = "", end = ""]) =>
      parseInt(start, 16) <= address && address < parseInt(end, 16)
    ),
    true,
  );
});

test("openLibrary() fails for a file that is not there", async () => {
  await assert.rejects(openLibrary("/no/such/library.so", "getpid", NO_ARGUMENTS), Error);
});

test("cString() ends in NUL", () => {
  assert.deepEqual(cString("é"), new Uint8Array([0xc3, 0xa9, 0]));
});
