import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { pid } from "../../../lib/core/ids.ts";
import { clockTicks } from "../../../lib/core/units.ts";
import { PROCESS_STATES } from "../../../lib/model/process.ts";
import { parseCgroup } from "../../../lib/proc/cgroup.ts";
import { parseCmdline } from "../../../lib/proc/cmdline.ts";
import { createRecogniser, indexFiles, makeDevice, parseDevices } from "../../../lib/proc/devices.ts";
import { parseEnviron } from "../../../lib/proc/environ.ts";
import { findProcMount } from "../../../lib/proc/hidden.ts";
import { parseMappedFiles, parseNodeMappings } from "../../../lib/proc/maps.ts";
import { parseProcStat } from "../../../lib/proc/stat.ts";
import { parseProcStatus } from "../../../lib/proc/status.ts";
import { parsePasswd } from "../../../lib/proc/users.ts";

/** Text like the kernel's: its own words and separators, in any order, with noise between. */
const pieces = fc.constantFrom(
  ...[" ", "\n", "\t", "\0", "(", ")", ":", "/", "-", "=", "0", "1", "4294967296", "99999999999999999999"],
  ...["S", "Z", "Uid:\t", "SigIgn:\t", "NSpid:\t", "Character devices:", "nvidia", "0::/", "job_", ".scope"],
  ...[
    "00:05",
    "fe:00",
    "rw-s",
    "7f00-7f01",
    "/dev/nvidia",
    "lxc.payload.",
    "machine-",
    "\\x2d",
    "proc proc rw,hidepid=",
  ],
);
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.oneof(pieces, fc.string({ maxLength: 3, unit: "binary" })), { maxLength: 40 }).map((words) =>
    words.join("")
  ),
);
const recogniser = createRecogniser(new Map(), []);

const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  parseProcStat,
  parseProcStatus,
  parseCgroup,
  parseCmdline,
  parseEnviron,
  parseDevices,
  parsePasswd,
  parseMappedFiles,
  parseNodeMappings: (text) => parseNodeMappings(text, recogniser),
  findProcMount: (text) => findProcMount(text, "/proc"),
};

for (const [name, parse] of Object.entries(PARSERS)) {
  test(`${name}() throws nothing but SyntaxError on any text`, () => {
    fc.assert(fc.property(anyText, (text) => {
      try {
        parse(text);
      } catch (error) {
        assert.ok(error instanceof SyntaxError, String(error));
      }
    }));
  });
}

test("parseProcStat() gives back whatever a process calls itself", () => {
  const line = fc.record({
    id: fc.integer({ min: 1, max: 4_194_304 }),
    comm: fc.string({ unit: "binary", maxLength: 15 }),
    state: fc.constantFrom(...PROCESS_STATES),
    start: fc.integer({ min: 0 }),
    threads: fc.integer({ min: 1, max: 100_000 }),
  });
  fc.assert(fc.property(line, ({ id, comm, state, start, threads }) => {
    const text =
      `${id} (${comm}) ${state} 7 8 9 -1 -1 4194560 0 0 0 0 3 4 0 0 20 0 ${threads} 0 ${start} 1 1\n`;
    assert.deepEqual(parseProcStat(text), {
      pid: pid(id),
      startTicks: clockTicks(start),
      comm,
      state,
      parentPid: 7,
      processGroup: 8,
      session: 9,
      terminal: -1,
      threads,
      cpuTicks: clockTicks(7),
      isKernelThread: false,
      isExiting: false,
    });
  }));
});

test("parseCmdline() gives back arguments, the last one not being empty", () => {
  const word = fc.string({ unit: "binary" }).filter((text) => !text.includes("\0"));
  fc.assert(fc.property(fc.array(word), word.filter((text) => text !== ""), (words, last) => {
    const argv = [...words, last];
    assert.deepEqual(parseCmdline(argv.map((each) => `${each}\0`).join("")), { ok: true, value: argv });
  }));
});

test("parseEnviron() never keeps a variable whose name says that it is a secret", () => {
  const name = fc.tuple(
    fc.constantFrom("CUDA_", "NVIDIA_", "SLURM_", "KUBERNETES_", "HOROVOD_"),
    fc.constantFrom("API_KEY", "TOKEN", "SECRET", "PASSWORD", "JWT", "AUTH_FILE"),
    fc.stringMatching(/^[A-Z_]{0,5}$/),
  ).map((parts) => parts.join(""));
  fc.assert(fc.property(name, (secret) => {
    assert.deepEqual(parseEnviron(`${secret}=hunter2\0RANK=1\0`), {
      ok: true,
      value: new Map([["RANK", "1"]]),
    });
  }));
});

test("parseNodeMappings() finds a file by the numbers that makeDevice() gives", () => {
  const node = { kind: "uvm" } as const;
  const numbers = fc.record({
    major: fc.integer({ min: 0, max: 0xfff }),
    minor: fc.integer({ min: 0, max: 0xfffff }),
    inode: fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
  });
  fc.assert(fc.property(numbers, ({ major, minor, inode }) => {
    const hex = (value: number) => value.toString(16).padStart(2, "0");
    const line = `7f00-7f01 rw-s 00000000 ${hex(major)}:${hex(minor)} ${inode}    /x\n`;
    const ofFile = indexFiles([{ device: makeDevice(major, minor), inode, node }]);
    assert.deepEqual(parseNodeMappings(line, { ofFile, ofPath: () => undefined }), [{ node, lines: 1 }]);
  }));
});
