import assert from "node:assert/strict";
import { test } from "node:test";
import { AlertBook } from "../../../../lib/analysis/watch/alert_book.ts";
import { milliseconds } from "../../../../lib/core/units.ts";
import type { Condition } from "../../../../lib/model/watch.ts";

const START = Date.parse("2026-11-30T12:00:00.000Z");

function condition(differences: Partial<Condition> = {}): Condition {
  return {
    kind: "memory",
    key: "memory 0",
    severity: "warning",
    gpu: undefined,
    process: undefined,
    isOver: true,
    after: milliseconds(0),
    already: milliseconds(0),
    message: "it is full",
    evidence: [],
    advice: "look",
    ...differences,
  };
}

type Moment = readonly [seconds: number, conditions: readonly Condition[], isSeen?: "unseen"];

/** What a book tells, moment by moment: `12 alert memory 0 since 12:00:02`. */
function tellOf(moments: readonly Moment[], { oncePer = 0 } = {}): string[] {
  const book = new AlertBook(milliseconds(oncePer * 1000));
  return moments.flatMap(([seconds, conditions, isSeen]) =>
    book.update({
      at: milliseconds(seconds * 1000),
      now: new Date(START + seconds * 1000).toISOString(),
      conditions,
      canSee: () => isSeen !== "unseen",
    }).map((told) =>
      `${seconds} ${told.event} ${told.alert.key} ${
        told.event === "alert" ? `since ${told.alert.since.slice(11, 19)}` : `after ${told.lasted} ms`
      }`
    )
  );
}

test("AlertBook tells once when something begins and once when it is over", () => {
  const is = condition();
  assert.deepEqual(tellOf([[0, []], [1, [is]], [2, [is]], [3, [is]], [4, []], [5, []]]), [
    "1 alert memory 0 since 12:00:01",
    "4 cleared memory 0 after 3000 ms",
  ]);
});

test("AlertBook waits until something has lasted, and forgets what has not", () => {
  const is = condition({ after: milliseconds(2000) });
  assert.deepEqual(tellOf([[0, [is]], [1, [is]], [2, [is]], [3, []]]), [
    "2 alert memory 0 since 12:00:00",
    "3 cleared memory 0 after 3000 ms",
  ]);
  assert.deepEqual(tellOf([[0, [is]], [1, []], [2, [is]], [3, [is]]]), []);
});

test("AlertBook counts what had lasted before it was first seen", () => {
  const is = condition({ after: milliseconds(2000), already: milliseconds(5000) });
  assert.deepEqual(tellOf([[10, [is]]]), ["10 alert memory 0 since 12:00:05"]);
});

test("AlertBook neither raises nor ends an alert between its two limits", () => {
  const [over, between] = [condition(), condition({ isOver: false })];
  assert.deepEqual(tellOf([[0, [between]], [1, [over]], [2, [between]], [3, [over]], [4, []]]), [
    "1 alert memory 0 since 12:00:01",
    "4 cleared memory 0 after 3000 ms",
  ]);
});

test("AlertBook does not call over what it cannot see, and begins to count anew", () => {
  const [is, later] = [condition(), condition({ after: milliseconds(2000) })];
  assert.deepEqual(tellOf([[0, [is]], [1, [], "unseen"], [2, []]]), [
    "0 alert memory 0 since 12:00:00",
    "2 cleared memory 0 after 2000 ms",
  ]);
  assert.deepEqual(tellOf([[0, [later]], [1, [], "unseen"], [2, [later]], [4, [later]]]), [
    "4 alert memory 0 since 12:00:02",
  ]);
});

test("AlertBook tells again what comes back, but not within the span", () => {
  const is = condition();
  const comesBack: Moment[] = [[0, [is]], [1, []], [2, [is]], [3, []], [9, [is]], [10, [is]]];
  assert.deepEqual(tellOf(comesBack, { oncePer: 5 }), [
    "0 alert memory 0 since 12:00:00",
    "1 cleared memory 0 after 1000 ms",
    "9 alert memory 0 since 12:00:09",
  ]);
  assert.equal(tellOf(comesBack).length, 5);
});

test("AlertBook keeps apart what has different keys, and what stands in the order of its beginning", () => {
  const book = new AlertBook(milliseconds(0));
  const [first, second] = [condition({ key: "b" }), condition({ key: "a" })];
  const tick = { now: "2026-11-30T12:00:00.000Z", canSee: () => true };
  book.update({ ...tick, at: milliseconds(0), conditions: [first] });
  book.update({ ...tick, at: milliseconds(1), conditions: [second, first] });
  assert.deepEqual(book.standing.map(({ key }) => key), ["b", "a"]);
});
