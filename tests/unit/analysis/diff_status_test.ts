import assert from "node:assert/strict";
import { test } from "node:test";
import { endingOfSnapshots, statusOfJob } from "../../../lib/analysis/diff_status.ts";
import { type ChildEnd, DIFF_VERDICTS, type DiffVerdict } from "../../../lib/model/diff.ts";

const OK: ChildEnd = { kind: "exited", status: 0 };
const job = (verdict: DiffVerdict, end: ChildEnd = OK, hasTimedOut = false) => ({
  verdict,
  end,
  hasTimedOut,
});

test("statusOfJob() is the command's own status wherever that is not 0", () => {
  for (const verdict of DIFF_VERDICTS) {
    assert.deepEqual(statusOfJob(job(verdict, { kind: "exited", status: 3 }), 10), { status: 3 });
    assert.deepEqual(statusOfJob(job(verdict, { kind: "killed", signal: 9 }), 10), { status: 137 });
    assert.deepEqual(statusOfJob(job(verdict, { kind: "killed", signal: 34 }), 10), { status: 162 });
  }
});

test("statusOfJob() is 124 for a job that ran out of time, however it ended then", () => {
  assert.deepEqual(statusOfJob(job("held", { kind: "killed", signal: 15 }, true), 10), { status: 124 });
  assert.deepEqual(statusOfJob(job("released", OK, true), 10), { status: 124 });
});

test("statusOfJob() is the leak status when the command succeeded and left memory behind", () => {
  const leaks = DIFF_VERDICTS.filter((verdict) =>
    JSON.stringify(statusOfJob(job(verdict), 42)) === '{"status":42}'
  );

  assert.deepEqual(leaks, ["held", "held-by-nobody-visible", "still-releasing", "moved", "grew"]);
});

test("statusOfJob() is unavailable, never ok, when it cannot be told", () => {
  assert.equal(statusOfJob(job("unknown"), 10), "unavailable");
  assert.equal(statusOfJob(job("released"), 10), "ok");
  assert.equal(statusOfJob(job("changed-by-others"), 10), "ok");
  assert.equal(statusOfJob(job("unchanged"), 10), "ok");
});

test("endingOfSnapshots() finds what is held that was not before", () => {
  assert.deepEqual(DIFF_VERDICTS.map((verdict) => endingOfSnapshots({ verdict })), [
    "finding",
    "finding",
    "finding",
    "finding",
    "finding",
    "unavailable",
    "ok",
    "ok",
    "ok",
  ]);
});
