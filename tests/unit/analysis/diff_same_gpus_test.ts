import assert from "node:assert/strict";
import { test } from "node:test";
import { diffSnapshots } from "../../../lib/analysis/diff_snapshots.ts";
import type { SnapshotDiff } from "../../../lib/model/diff.ts";
import { absent } from "../../../lib/core/reading.ts";
import { parseSmiText } from "../../../lib/source/smi/parse.ts";
import { snapshotOfText } from "../../../lib/world/saved_look.ts";
import { TOLERANCE } from "../../support/job_story.ts";
import { readSmiFixture } from "../../support/smi_fixtures.ts";

const UUID = "GPU-00000000-1111-2222-3333-444444444444";
const XML = readSmiFixture("idle.xml");
const BUSY = XML.replace("<used>0 MiB</used>", "<used>1542 MiB</used>").replace(
  /<processes>\s*<\/processes>/,
  "<processes><process_info><pid>42</pid><type>C</type><process_name>a</process_name>" +
    "<used_memory>1542 MiB</used_memory></process_info></processes>",
);

function compare(before: string, after: string): SnapshotDiff {
  const [first, second] = [before, after].map((text) => snapshotOfText(parseSmiText(`${text}\n`)));
  assert.ok(first && second);
  return diffSnapshots({ name: "a", snapshot: first }, { name: "b", snapshot: second }, TOLERANCE);
}

test("withSameIds() compares a table and XML of one GPU, whichever of them prints its UUID", () => {
  const table = readSmiFixture("idle_table.txt");
  for (const [before, after, kind] of [[table, BUSY, "held"], [BUSY, table, "released"]] as const) {
    const { gpus, changes } = compare(before, after);
    assert.deepEqual(gpus.map(({ uuid, verdict }) => [uuid, verdict.kind]), [[UUID, kind]]);
    assert.deepEqual(changes.map(({ pid, gpu }) => [pid, gpu]), [[42, UUID]]);
  }
});

test("withSameIds() leaves apart what no key puts together", () => {
  const { gpus } = compare("index, memory.used [MiB]\n1, 5 MiB", BUSY);
  assert.deepEqual(gpus.map(({ uuid }) => uuid), ["index:1", UUID]);
});

test("diffSnapshots() does not call a GPU lost that a text merely leaves out", () => {
  const { gpus } = compare(BUSY, readSmiFixture("table_panel_none.txt"));
  assert.deepEqual(gpus.map(({ verdict }) => verdict), [{
    kind: "unknown",
    reason: absent("not-reported", "it is not in the second snapshot"),
  }]);
});

test("diffSnapshots() calls a GPU lost where the snapshot says so", () => {
  const refusal = "Unable to determine the device handle for GPU0: 0000:00:06.0: GPU is lost.";
  const { gpus } = compare(BUSY, refusal);
  assert.deepEqual(gpus.map(({ verdict }) => verdict.kind === "unknown" && verdict.reason.why), ["lost"]);
});
