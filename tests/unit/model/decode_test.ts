import { readFileSync } from "node:fs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../../lib/core/reading.ts";
import { decodeSnapshot, parseSnapshot } from "../../../lib/model/decode.ts";
import { encodeSnapshot } from "../../../lib/model/encode.ts";
import type { SnapshotJson } from "../../../lib/model/schema/snapshot.ts";
import { WORLDS } from "../../support/worlds.ts";

const FIXTURES = new URL("../../fixtures/snapshots/", import.meta.url);
const fixture = (name: string) => readFileSync(new URL(name, FIXTURES), "utf8");

test("parseSnapshot() reads a version 1 file whole: written again it is the same, with the keys that came since", () => {
  const text = fixture("version_1.json");
  const json = JSON.parse(text);
  const holders = json.holders.map((holder: object) => ({ ...holder, job: null }));
  assert.deepEqual(encodeSnapshot(parseSnapshot(text)), { ...json, unreadableGpus: [], holders });
});

test("parseSnapshot() refuses a job that is none", () => {
  const json = encodeSnapshot(WORLDS["orphaned-ranks"]);
  const [first] = json.holders;
  const text = JSON.stringify({ ...json, holders: [{ ...first, job: { ...first?.job, rank: -1 } }] });
  assert.throws(() => parseSnapshot(text), {
    name: "SyntaxError",
    message:
      "Cannot decode snapshot: /holders/0/job/rank must be a whole number from 0 to 2^53 - 1, and is -1",
  });
});

test("parseSnapshot() passes over keys that it does not know", () => {
  assert.deepEqual(parseSnapshot(fixture("newer_minor.json")), parseSnapshot(fixture("version_1.json")));
});

test("parseSnapshot() refuses a file that was cut anywhere", () => {
  const text = fixture("version_1.json").trimEnd();
  for (const length of [0, 1, 40, Math.floor(text.length / 2), text.length - 1]) {
    assert.throws(() => parseSnapshot(text.slice(0, length)), {
      name: "SyntaxError",
      message: "Cannot parse snapshot: it is not JSON, or not all of it",
    });
  }
});

test("parseSnapshot() refuses what nests deeper than any snapshot", () => {
  const depth = 1_000_000;
  assert.throws(() => parseSnapshot("[".repeat(depth)), SyntaxError);
  assert.throws(() => parseSnapshot(`${'{"gpus":'.repeat(depth)}1${"}".repeat(depth)}`), SyntaxError);
});

/** What is wrong with a file, made by changing a good one, and the sentence that says so. */
const WRONG: readonly [(json: Record<string, unknown>) => unknown, string][] = [
  [() => null, "it must be an object, and is null"],
  [() => [], "/schema is missing"],
  [() => "text", 'it must be an object, and is "text"'],
  [({ schema: _, ...json }) => json, "/schema is missing"],
  [(json) => ({ ...json, schema: 1 }), "/schema must be gpuctl.snapshot/1, and is 1"],
  [
    (json) => ({ ...json, schema: "gpuctl.snapshot/2" }),
    'its schema is "gpuctl.snapshot/2", and this version reads gpuctl.snapshot/1',
  ],
  [
    (json) => ({ ...json, schema: "gpuctl.diff/1" }),
    'its schema is "gpuctl.diff/1", and this version reads gpuctl.snapshot/1',
  ],
  [
    (json) => ({ ...json, schema: "\x1b[2J" }),
    'its schema is "\\u{1b}[2J", and this version reads gpuctl.snapshot/1',
  ],
  [({ gpus: _, ...json }) => json, "/gpus is missing"],
  [(json) => ({ ...json, gpus: {} }), "/gpus must be a list, and is an object"],
  [
    (json) => ({ ...json, takenAt: "yesterday" }),
    '/takenAt must be a time in UTC such as 2026-11-30T12:00:00Z, and is "yesterday"',
  ],
  [
    (json) => ({ ...json, takenAt: "2026-13-30T12:00:00Z" }),
    '/takenAt must be a time in UTC such as 2026-11-30T12:00:00Z, and is "2026-13-30T12:00:00Z"',
  ],
  [
    (json) => ({ ...json, source: "rumour" }),
    '/source must be one of nvml, nvidia-smi, file, sim, proc, and is "rumour"',
  ],
  [(json) => ({ ...json, simulated: "yes" }), '/simulated must be true or false, and is "yes"'],
  [
    (json) => ({ ...json, host: { name: 5, bootId: null, kernel: null } }),
    "/host/name must be text, and is 5",
  ],
  [(json) => ({ ...json, host: [] }), "/host/name is missing"],
  [gpu({ index: -1 }), "/gpus/0/index must be a GPU index from 0 to 65535, and is -1"],
  [gpu({ uuid: "" }), '/gpus/0/uuid must be a GPU UUID of 1 to 96 characters, and is ""'],
  [
    gpu({ busId: "nowhere" }),
    '/gpus/0/busId must be a PCI address such as 00000000:c1:00.0, and is "nowhere"',
  ],
  [
    gpu({ memoryUsedBytes: "2566 MiB" }),
    '/gpus/0/memoryUsedBytes must be a whole number from 0 to 2^53 - 1, and is "2566 MiB"',
  ],
  [
    gpu({ memoryUsedBytes: 0.5 }),
    "/gpus/0/memoryUsedBytes must be a whole number from 0 to 2^53 - 1, and is 0.5",
  ],
  [
    gpu({ memoryUsedBytes: -1 }),
    "/gpus/0/memoryUsedBytes must be a whole number from 0 to 2^53 - 1, and is -1",
  ],
  [
    gpu({ memoryUsedBytes: 2 ** 53 }),
    "/gpus/0/memoryUsedBytes must be a whole number from 0 to 2^53 - 1, and is 9007199254740992",
  ],
  [
    gpu({ memoryUsedBytes: 1e300 }),
    "/gpus/0/memoryUsedBytes must be a whole number from 0 to 2^53 - 1, and is 1e+300",
  ],
  [
    gpu({ utilizationPercent: 101 }),
    "/gpus/0/utilizationPercent must be a percentage from 0 to 100, and is 101",
  ],
  [
    gpu({ processList: "empty" }),
    '/gpus/0/processList must be one of known, incomplete, unknown, and is "empty"',
  ],
  [gpu({ contexts: [{}] }), "/gpus/0/contexts/0/pid is missing"],
  [holder({ pid: 0 }), "/holders/0/pid must be a pid from 1 to 4194304, and is 0"],
  [holder({ pid: 4_294_967_295 }), "/holders/0/pid must be a pid from 1 to 4194304, and is 4294967295"],
  [holder({ uid: 2 ** 32 }), "/holders/0/uid must be a uid from 0 to 2^32 - 1, and is 4294967296"],
  [holder({ state: "Q" }), '/holders/0/state must be one of R, S, D, Z, T, t, X, I, P, and is "Q"'],
  [holder({ evidence: "none" }), '/holders/0/evidence must be a list, and is "none"'],
  [holder({ command: "python 'train" }), "the command of PID 812 has an open quote"],
  [holder({ user: ["x".repeat(1000)] }), "/holders/0/user must be text, and is a list"],
  [
    holder({ startTicks: "9".repeat(1_000_000) }),
    `/holders/0/startTicks must be a whole number from 0 to 2^53 - 1, and is "${"9".repeat(59)}…"`,
  ],
  [
    (json) => ({
      ...json,
      problems: [{ at: null, subject: "x", why: "because", detail: null, message: "x" }],
    }),
    '/problems/0/why must be one of not-supported, no-permission, lost, reset-required, not-reported, not-asked, timed-out, exited, erased, hidden, implausible, failed, and is "because"',
  ],
];

test("decodeSnapshot() refuses a wrong value with one sentence that names it", () => {
  for (const [change, sentence] of WRONG) {
    assert.throws(() => decodeSnapshot(change({ ...encodeSnapshot(WORLDS["forked-child"]) })), {
      name: "SyntaxError",
      message: `Cannot decode snapshot: ${sentence}`,
    });
  }
});

test("decodeSnapshot() names the first wrong value alone, however many there are", () => {
  const json = encodeSnapshot(WORLDS.idle);
  assert.throws(() => decodeSnapshot({ ...json, problems: Array.from({ length: 200_000 }, () => ({})) }), {
    message: "Cannot decode snapshot: /problems/0/at is missing",
  });
});

test("decodeSnapshot() takes a null without a reason for not reported", () => {
  const json = encodeSnapshot(WORLDS.live);
  const decoded = decodeSnapshot({ ...json, host: { ...json.host, name: null } });
  assert.deepEqual(decoded.host.name, absent("not-reported"));
});

test("decodeSnapshot() never makes an empty list of one that is not there", () => {
  const json = encodeSnapshot(WORLDS.idle);
  const decoded = decodeSnapshot({ ...json, gpus: json.gpus.map((gpu) => ({ ...gpu, contexts: null })) });
  assert.deepEqual(decoded.gpus[0]?.gpu.processList, { state: "unknown", reason: absent("not-reported") });
});

test("decodeSnapshot() believes a file that calls its list unknown, whatever it lists", () => {
  const json = encodeSnapshot(WORLDS.container);
  const decoded = decodeSnapshot({ ...json, gpus: json.gpus.map((gpu) => ({ ...gpu, contexts: [] })) });
  assert.deepEqual(decoded.gpus[0]?.gpu.processList, WORLDS.container.gpus[0]?.gpu.processList);
});

test("decodeSnapshot() keeps a reason that belongs to no value as a problem", () => {
  const json = encodeSnapshot(WORLDS.idle);
  const stray = {
    at: "/gpus/0/addedLater",
    subject: "GPU 0",
    why: "failed" as const,
    detail: null,
    message: "lost",
  };
  const decoded = decodeSnapshot({ ...json, problems: [...json.problems, stray] });
  assert.deepEqual(decoded.problems, [{ subject: "GPU 0", reason: absent("failed"), message: "lost" }]);
});

test("decodeSnapshot() is not led astray by a prototype in the file", () => {
  const text = JSON.stringify(encodeSnapshot(WORLDS.idle)).replace(
    '"simulated":false',
    '"__proto__":{"simulated":true}',
  );
  assert.throws(() => parseSnapshot(text), { message: "Cannot decode snapshot: /simulated is missing" });
});

test("decodeSnapshot() splits a command into the arguments that were joined", () => {
  const json = encodeSnapshot(WORLDS["forked-child"]);
  const [first] = json.holders;
  const decoded = decodeSnapshot({
    ...json,
    holders: [{ ...first, command: `python -c 'print("it'\\''s")' ""` }],
  });
  assert.deepEqual(decoded.holders[0]?.argv, known(["python", "-c", `print("it's")`, ""]));
});

function gpu(change: Partial<Record<keyof SnapshotJson["gpus"][number], unknown>>) {
  return () => {
    const json = encodeSnapshot(WORLDS["forked-child"]);
    return { ...json, gpus: json.gpus.map((each) => ({ ...each, ...change })) };
  };
}

function holder(change: Partial<Record<keyof SnapshotJson["holders"][number], unknown>>) {
  return () => {
    const json = encodeSnapshot(WORLDS["forked-child"]);
    return { ...json, holders: json.holders.map((each) => ({ ...each, ...change })) };
  };
}
