import assert from "node:assert/strict";
import { test } from "node:test";
import { findLastResets, findOwnKills } from "../../../lib/analysis/own_acts.ts";
import { parseBusId } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { clockTicks } from "../../../lib/core/units.ts";

const BOOT = "11111111-2222-3333-4444-555555555555";
/** Booted at 11:00. */
const NOW = {
  host: { name: known("node1"), bootId: known(BOOT), kernel: known("6.18.0") },
  takenAt: "2026-11-30T12:00:00.000Z",
  ticks: clockTicks(360_000),
};

function line(changes: Readonly<Record<string, unknown>> = {}): string {
  const record = {
    schema: "gpuctl.audit/1",
    at: "2026-11-30T11:00:01.500Z",
    event: "outcome",
    bootId: BOOT,
    act: { pid: 700, signal: "SIGTERM" },
    step: null,
  };
  return `${JSON.stringify({ ...record, ...changes })}\n`;
}

test("findOwnKills() gives who was ended since boot, and when", () => {
  const second = line({ at: "2026-11-30T11:30:00.000Z", act: { pid: 701, signal: "SIGKILL" } });
  assert.deepEqual(findOwnKills(line() + second, NOW), [
    { pid: 700, microsecondsSinceBoot: 1_500_000 },
    { pid: 701, microsecondsSinceBoot: 1_800_000_000 },
  ]);
});

test("findOwnKills() leaves out what was only meant, what got no signal, steps, and another boot", () => {
  const others = [
    line({ event: "intent" }),
    line({ act: { pid: 700, signal: null } }),
    line({ act: null, step: { kind: "reset" } }),
    line({ bootId: BOOT.replace("1", "2") }),
    line({ bootId: null }),
  ];
  assert.deepEqual(findOwnKills(others.join(""), NOW), []);
});

test("findOwnKills() takes a record that is cut short or forged for no record", () => {
  const broken = [
    line().slice(0, 80),
    "\u0000\u0000\n",
    "[]\n",
    "{}\n",
    '{"act":7}\n',
    line({ act: { pid: "700", signal: "SIGTERM" } }),
    line({ act: { pid: -1, signal: "SIGTERM" } }),
    line({ act: { pid: 1.5, signal: "SIGTERM" } }),
  ];
  assert.deepEqual(findOwnKills(broken.join("\n"), NOW), []);
});

test("findOwnKills() gives no time that makes no sense", () => {
  for (const at of ["never", "2026-11-30T10:59:59.000Z", null]) {
    assert.deepEqual(findOwnKills(line({ at }), NOW), [{ pid: 700 }]);
  }
});

test("findLastResets() believes no reset that is still to come: a clock was set back since", () => {
  const step = { kind: "reset", state: "done", command: ["nvidia-smi", "-i", "00000000:C1:00.0", "-r"] };
  const moments = [NOW.takenAt, new Date(Date.parse(NOW.takenAt) + 60_000).toISOString()];
  assert.deepEqual(
    moments.map((at) => findLastResets(line({ at, act: null, step }), NOW).size),
    [1, 0],
  );
});

test("findOwnKills() knows nothing where the boot is not known", () => {
  assert.deepEqual(findOwnKills(line(), { ...NOW, host: { ...NOW.host, bootId: absent("failed") } }), []);
});

test("findLastResets() gives the last reset of each GPU since boot, and only one that was done", () => {
  const step = (at: string, words: string, changes = {}) =>
    line({
      at: `2026-11-30T${at}.000Z`,
      act: null,
      step: { kind: "reset", state: "done", command: words.split(" "), ...changes },
    });
  const [one, two] = [parseBusId("00000000:c1:00.0"), parseBusId("00000000:c2:00.0")];
  const record = [
    step("11:00:10", "nvidia-smi -i 00000000:C1:00.0,00000000:C2:00.0 -r"),
    step("11:00:20", "nvidia-smi -i 00000000:C1:00.0 -r"),
    step("11:00:30", "nvidia-smi -i 00000000:C2:00.0 -r", { state: "failed" }),
    step("11:00:40", "nvidia-smi -i 00000000:C2:00.0 -pm 0", { kind: "persistence-off" }),
    step("11:00:50", "nvidia-smi -i all -r"),
    step("11:00:55", "rm -rf /"),
    step("11:00:59", "nvidia-smi", { command: [7] }),
  ];
  assert.deepEqual(findLastResets(record.join(""), NOW), new Map([[one, 20_000_000], [two, 10_000_000]]));
});
