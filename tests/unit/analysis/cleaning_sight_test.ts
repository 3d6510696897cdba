import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeSight } from "../../../lib/analysis/cleaning_sight.ts";
import type { EndingPolicy } from "../../../lib/analysis/ending_policy.ts";
import { pid } from "../../../lib/core/ids.ts";
import { type MachineSpec, reportOf, timedLook, uuidOf } from "../../support/machine.ts";

type Asked = Pick<EndingPolicy, "gpus" | "pids">;

function sightOf(reader: MachineSpec["reader"] & object, more: Partial<MachineSpec> = {}, asked: Asked = {}) {
  const spec: MachineSpec = { processes: [], ticks: 1000, reader, ...more };
  return judgeSight({ ...timedLook(spec), gpus: reportOf(spec).gpus }, asked);
}

const UNEXPLAINED = { gpus: [{}, { usedMib: 3072 }] };

test("judgeSight() has nothing to say where root saw everybody", () => {
  assert.deepEqual(sightOf({}), { isOwnOnly: false, gaps: [], limits: [] });
});

test("judgeSight() forgives a process that not even root may look into, and names it", () => {
  assert.deepEqual(sightOf({ unreadable: 1, ownUnreadable: [1] }), {
    isOwnOnly: false,
    gaps: [],
    limits: ["PID 1 could not be looked into, not even by root"],
  });
});

test("judgeSight() forgives nobody unseen where there is memory that nobody seen explains", () => {
  const gap =
    "Nobody who was seen explains 3 GiB on GPU 1, and PID 1 could not be looked into, not even by root";
  const reader = { unreadable: 1, ownUnreadable: [1] };
  assert.deepEqual(sightOf(reader, UNEXPLAINED), { isOwnOnly: false, gaps: [gap], limits: [] });
  assert.deepEqual(sightOf(reader, UNEXPLAINED, { gpus: new Set([uuidOf(0)]) }).gaps, []);
  assert.deepEqual(sightOf({}, UNEXPLAINED).gaps, []);
});

test("judgeSight() holds what root may not see against a root without CAP_SYS_PTRACE", () => {
  const reader = { unreadable: 40, ownUnreadable: [1, 2, 3, 4, 5, 6], mayTrace: false };
  assert.deepEqual(sightOf(reader), {
    isOwnOnly: false,
    gaps: ["6 processes could not be looked into: this root may not (CAP_SYS_PTRACE)"],
    limits: [],
  });
});

test("judgeSight() holds only a user's own processes against them, and says what it leaves out", () => {
  assert.deepEqual(sightOf({ isRoot: false, unreadable: 40 }, UNEXPLAINED), {
    isOwnOnly: true,
    gaps: [],
    limits: ["40 processes of other users were not looked into: without root only your own are ended"],
  });
  assert.deepEqual(sightOf({ isRoot: false, unreadable: 2, ownUnreadable: [812] }), {
    isOwnOnly: true,
    gaps: [],
    limits: [
      "1 process of other users was not looked into: without root only your own are ended",
      "PID 812 could not be looked into: root may",
    ],
  });
  assert.deepEqual(sightOf({ isRoot: false, unreadable: 1, ownUnreadable: [812] }, UNEXPLAINED).gaps, [
    "Nobody who was seen explains 3 GiB on GPU 1, and PID 812 could not be looked into: root may",
  ]);
});

test("judgeSight() asks nothing of processes that were not named", () => {
  const reader = { isRoot: false, unreadable: 1, ownUnreadable: [812] };
  assert.deepEqual(sightOf(reader, UNEXPLAINED, { pids: new Set([pid(900)]) }), {
    isOwnOnly: true,
    gaps: [],
    limits: [],
  });
});

test("judgeSight() never forgives a look that was cut short", () => {
  for (const isRoot of [true, false]) {
    assert.deepEqual(sightOf({ isRoot, cutShort: "timed-out" }), {
      isOwnOnly: !isRoot,
      gaps: ["Not every process was looked at (no answer in time)"],
      limits: [],
    });
  }
});

test("judgeSight() takes a mount that hides other users' processes for a limit of users, and for a gap of root", () => {
  assert.deepEqual(sightOf({ isRoot: false, cutShort: "hidden" }), {
    isOwnOnly: true,
    gaps: [],
    limits: ["Other users' processes do not show (hidden from here)"],
  });
  assert.deepEqual(sightOf({ cutShort: "hidden" }).gaps, [
    "Not every process was looked at (hidden from here)",
  ]);
});
