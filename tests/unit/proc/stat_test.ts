import { test } from "node:test";
import assert from "node:assert/strict";
import { pid } from "../../../lib/core/ids.ts";
import { clockTicks } from "../../../lib/core/units.ts";
import { findStat, parseProcStat } from "../../../lib/proc/stat.ts";
import { openStage } from "../../support/actor.ts";

/** Of a shell on Linux 6.18; fields behind the name as proc_pid_stat(5) has them. */
const BEHIND =
  "S 811 812 700 34816 900 4194304 120 3400 0 1 7 5 2 1 20 0 1 0 4242 5000000 200 18446744073709551615\n";
const SHELL = {
  pid: pid(812),
  startTicks: clockTicks(4242),
  comm: "bash",
  state: "S",
  parentPid: 811,
  processGroup: 812,
  session: 700,
  terminal: 34816,
  threads: 1,
  cpuTicks: clockTicks(12),
  isKernelThread: false,
  isExiting: false,
} as const;

test("parseProcStat() takes each field from its place", () => {
  assert.deepEqual(parseProcStat(`812 (bash) ${BEHIND}`), SHELL);
});

test("parseProcStat() takes a name with parentheses, blanks and newlines whole", () => {
  for (const comm of ["a b", "(ugly )pr()cess(", "x) S 1 2 3", "a\nb", "\x1b[2J", ") ", "", "��"]) {
    assert.deepEqual(parseProcStat(`812 (${comm}) ${BEHIND}`), { ...SHELL, comm }, JSON.stringify(comm));
  }
});

test("parseProcStat() tells kernel threads and what is on its way out by their flags", () => {
  const withFlags = (flags: number) => parseProcStat(`812 (x) ${BEHIND.replace("4194304", String(flags))}`);
  const { isKernelThread, isExiting } = withFlags(0x20_8040);
  assert.deepEqual({ isKernelThread, isExiting }, { isKernelThread: true, isExiting: false });
  assert.equal(withFlags(0x40_0004).isExiting, true);
});

test("parseProcStat() refuses what is not such a line", () => {
  const lines = [
    "",
    "812",
    "812 bash S 1",
    `0 (bash) ${BEHIND}`,
    `812 (bash) ${BEHIND.slice(0, 40)}`,
    `812 (bash) ${BEHIND.replace("S", "Q")}`,
    `812 (bash) ${BEHIND.replace("4242", "-1")}`,
    `812 (bash) ${BEHIND.replace("4242", "4242x")}`,
    `) 812 (bash ${BEHIND}`,
  ];
  for (const line of lines) {
    assert.throws(() => parseProcStat(line), {
      name: "SyntaxError",
      message: `Cannot parse "${line}": expected a pid, a name in parentheses, a state and numbers`,
    });
  }
});

test("findStat() reads a real process that calls itself something nasty", async () => {
  using stage = openStage();
  await using actor = await stage.start(["name", "a) Z 1\n(b"]);
  const { pid, startTicks, comm, state, threads } = findStat(`/proc/${actor.pid}`) ?? {};
  assert.deepEqual(
    { pid, startTicks, comm, state, threads },
    { ...actor.identity, comm: "a) Z 1\n(b", state: "S", threads: 1 },
  );
});

test("findStat() gives nothing once the process is gone", () => {
  assert.equal(findStat("/proc/4194304"), undefined);
});
