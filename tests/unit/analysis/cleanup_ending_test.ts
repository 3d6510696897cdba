import assert from "node:assert/strict";
import { test } from "node:test";
import { endingOf } from "../../../lib/analysis/cleanup_ending.ts";
import { gpuIndex, pid } from "../../../lib/core/ids.ts";
import type { Cleanup } from "../../../lib/model/cleanup.ts";
import { WORLDS } from "../../support/worlds.ts";
import { actOf, CLEAN } from "../../support/cleanups.ts";

const GAP = { isOwnOnly: false, gaps: ["Not every process was looked at"], limits: [] };
const spared = { pid: pid(900), class: "orphan", why: "is younger than 30 s", isSpared: true } as const;

test("endingOf() is worst first: something withstood, something is left, not all was seen, all is well", () => {
  const endings: [Partial<Cleanup>, ReturnType<typeof endingOf>][] = [
    [{}, "ok"],
    [{ sight: { ...GAP, gaps: [], limits: ["PID 1 could not be looked into, not even by root"] } }, "ok"],
    [{ kept: [{ ...spared, isSpared: false }] }, "ok"],
    [{ acts: [actOf("ended")] }, "ok"],
    [{ sight: GAP }, "unavailable"],
    [{ unreadGpus: [gpuIndex(0)] }, "unavailable"],
    [{ acts: [actOf("ended")], sight: GAP }, "unavailable"],
    [{ kept: [spared] }, "finding"],
    [{ kept: [spared], isPlan: true }, "finding"],
    [{ kept: [spared], sight: GAP }, "finding"],
    [{ ghosts: WORLDS["forked-child"].ghosts }, "finding"],
    [{ acts: [actOf("planned")], isPlan: true }, "finding"],
    [{ acts: [actOf("ended"), actOf("survived")], kept: [spared], sight: GAP }, "partial"],
  ];
  assert.deepEqual(
    endings.map(([more]) => [more, endingOf({ ...CLEAN, ...more })]),
    endings,
  );
});
