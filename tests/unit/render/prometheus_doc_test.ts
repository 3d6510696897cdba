import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { WHYS } from "../../../lib/core/reading.ts";
import { SOURCE_NAMES } from "../../../lib/model/snapshot.ts";
import { OWNER_KINDS } from "../../../lib/render/prometheus_holders.ts";
import { METRICS, renderSnapshotPrometheus } from "../../../lib/render/snapshot_prometheus.ts";
import { MOST_SERIES } from "../../support/prometheus_series.ts";
import { parsePrometheus } from "../../support/prometheus_text.ts";
import { account, listed, snapshot } from "../../support/scene_parts.ts";

const TEXT = readFileSync(new URL("../../../docs/prometheus.md", import.meta.url), "utf8");
/** Prose as one line, so that it does not matter where it was wrapped. */
const PROSE = TEXT.replaceAll(/\s+/g, " ");
const ROWS = TEXT.split("\n").filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
/** What a name's end says of the unit, in the words of the table. */
const UNITS: readonly (readonly [end: RegExp, unit: RegExp])[] = [
  [/_bytes$/, /^bytes$/],
  [/_timestamp_seconds$/, /^seconds since 1970$/],
  [/_ratio$/, /^ratio, 0 to 1$/],
  [/(?:_info|_missing|_unreadable)$/, /^always 1$/],
  [/(?:_up|_complete|_simulated|_enabled|_action|_includes_reserve)$/, /^0 or 1$/],
  [/(?:_holders|_contexts|_problems)$/, /^(?:processes|contexts|problems)$/],
];

test("docs/prometheus.md lists exactly the metrics there are, in their order, with their labels", () => {
  assert.deepEqual(
    ROWS.map(([name, type, labels]) => [name, type, labels]),
    METRICS.map(({ name, labels }) => [
      `\`${name}\``,
      "gauge",
      labels.length === 0 ? "–" : labels.map((label) => `\`${label}\``).join(", "),
    ]),
  );
  for (const row of ROWS) assert.ok(row.length === 6 && row.every((cell) => cell !== ""), row[0]);
});

test("docs/prometheus.md gives each metric the unit that its name ends in", () => {
  for (const [name = "", , , unit = ""] of ROWS) {
    const expected = UNITS.find(([end]) => end.test(name.slice(1, -1)))?.[1];
    assert.ok(expected?.test(unit), `${name}: ${unit}`);
  }
});

test("docs/prometheus.md promises as many series as there can be", () => {
  const { machine, gpu, migDevice } = MOST_SERIES;
  assert.ok(
    PROSE.includes(
      `at most ${machine}, with ${gpu} more for each GPU and ${migDevice} more for each MIG device. ` +
        `For eight GPUs that is at most ${machine + 8 * gpu};`,
    ),
  );
  const inOrder = snapshot(Array.from({ length: 8 }, (_, index) => account(index, listed())));
  const { samples } = parsePrometheus(renderSnapshotPrometheus(inOrder));
  assert.ok(
    PROSE.includes(`in order they have about ${Math.round(samples.length / 10) * 10}.`),
    `${samples.length}`,
  );
});

test("docs/prometheus.md names every reason, source and kind of owner", () => {
  for (const word of [...WHYS, ...SOURCE_NAMES, ...OWNER_KINDS]) {
    assert.ok(TEXT.includes(`\`${word}\``), word);
  }
});

test("docs/prometheus.md says what is never absent, and it never is", () => {
  const never = ROWS.filter((row) => row[5] === "Never absent.").map(([name = ""]) => name.slice(1, -1));
  const { types } = parsePrometheus(renderSnapshotPrometheus(snapshot([])));
  assert.deepEqual(never.filter((name) => !types.has(name)), []);
});
