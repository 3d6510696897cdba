import assert from "node:assert/strict";
import { test } from "node:test";
import { statusOfIsolatedJob } from "../../../lib/analysis/isolation_status.ts";
import type { ChildEnd } from "../../../lib/model/diff.ts";
import { ISOLATION_VERDICTS } from "../../../lib/model/isolation.ts";

const OK: ChildEnd = { kind: "exited", status: 0 };

test("statusOfIsolatedJob() is the verdict's where the command succeeded", () => {
  assert.deepEqual(
    ISOLATION_VERDICTS.map((verdict) => statusOfIsolatedJob({ hasTimedOut: false, end: OK, verdict })),
    ["finding", "unavailable", "ok"],
  );
});

test("statusOfIsolatedJob() is the command's own where it failed, and 124 where its time ran out", () => {
  for (const verdict of ISOLATION_VERDICTS) {
    const failed = { hasTimedOut: false, end: { kind: "exited", status: 3 }, verdict } as const;
    const killed = { hasTimedOut: false, end: { kind: "killed", signal: 9 }, verdict } as const;

    assert.deepEqual(statusOfIsolatedJob(failed), { status: 3 });
    assert.deepEqual(statusOfIsolatedJob(killed), { status: 137 });
    assert.deepEqual(statusOfIsolatedJob({ hasTimedOut: true, end: OK, verdict }), { status: 124 });
  }
});
