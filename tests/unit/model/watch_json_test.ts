import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeWatchEvent, encodeWatchSample } from "../../../lib/model/watch_json.ts";
import { assertDocument } from "../../support/documents.ts";
import { CLEARED, GHOST_ALERT, WATCH_VIEWS } from "../../support/watch_views.ts";

test("encodeWatchSample() has each GPU with who has contexts there, and the keys of what stands", () => {
  const { gpus, alerts, processesAgeMs } = encodeWatchSample(WATCH_VIEWS.ghost);
  assert.deepEqual([gpus?.[0]?.processes, alerts, processesAgeMs], [
    [{ pid: 794, class: null, contextBytes: 2566 * 1024 ** 2 }],
    ["ghost GPU-0 794", "growth GPU-0 666"],
    12_000,
  ]);
});

test("encodeWatchSample() has no GPU where the driver gave no answer, and says why", () => {
  const sample = encodeWatchSample(WATCH_VIEWS["no-driver"]);
  assertDocument(sample);
  assert.equal(sample.gpus, null);
  assert.deepEqual(sample.problems.filter(({ at }) => at === "/gpus").map(({ why }) => why), ["timed-out"]);
  assert.deepEqual(sample.problems.map(({ subject }) => subject).includes("--prometheus"), true);
});

test("encodeWatchEvent() gives an alert and its end the same key", () => {
  const at = "2026-11-30T12:10:00.000Z";
  const alert = encodeWatchEvent({ event: "alert", at, alert: GHOST_ALERT });
  const cleared = encodeWatchEvent({ ...CLEARED, alert: GHOST_ALERT });
  assert.deepEqual([alert.event, cleared.event, alert.key], ["alert", "cleared", cleared.key]);
  assert.equal("lastedMs" in cleared && cleared.lastedMs, 65_000);
});
