import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../../lib/core/reading.ts";
import { widthOf } from "../../../lib/render/layout.ts";
import { renderSnapshotTable } from "../../../lib/render/snapshot_table.ts";
import { assertGolden } from "../../support/golden.ts";
import { account, device, holder, listed, snapshot } from "../../support/scene_parts.ts";
import { WORLDS } from "../../support/worlds.ts";

for (const [name, world] of Object.entries(WORLDS)) {
  test(`renderSnapshotTable() draws ${name} for a terminal of 80 columns`, () => {
    const text = renderSnapshotTable(world, { columns: 80, hasColour: false });
    assertGolden(`snapshot/${name}.txt`, text);
    assert.deepEqual(text.split("\n").filter((line) => widthOf(line) > 80), []);
  });
}

test("renderSnapshotTable() cuts nothing where there is no terminal", () => {
  assertGolden("snapshot/eight-gpus.wide.txt", renderSnapshotTable(WORLDS["eight-gpus"]));
});

test("renderSnapshotTable() stays readable in 50 columns", () => {
  const screen = { columns: 50, hasColour: false };
  assertGolden(
    "snapshot/dataloader-orphans.narrow.txt",
    renderSnapshotTable(WORLDS["dataloader-orphans"], screen),
  );
});

test("renderSnapshotTable() colours only where it is asked to, and says nothing by colour alone", () => {
  const plain = renderSnapshotTable(WORLDS["eight-gpus"], { columns: 80, hasColour: false });
  const coloured = renderSnapshotTable(WORLDS["eight-gpus"], { columns: 80, hasColour: true });
  assert.notEqual(coloured, plain);
  // deno-lint-ignore no-control-regex -- the escape codes are what is looked for
  assert.equal(coloured.replace(/\x1b\[\d+m/g, ""), plain);
});

test("renderSnapshotTable() never shows a part that is not known as if it were the whole", () => {
  const gone = absent("lost");
  const text = renderSnapshotTable(snapshot([account(0, listed()), account(1, listed())], {
    holders: [holder(7, {
      class: "live",
      argv: ["x"],
      devices: [device(0, "used", 2048), { ...device(1, "used"), contextBytes: gone }],
    })],
  }));
  assert.match(text, /^ *7 {2}alice {2}0 {4}2 GiB\+\? {2}S/m);
});

test("renderSnapshotTable() never calls a machine clean of which not all was seen", () => {
  const idle = WORLDS.idle;
  const problem = { subject: "x", reason: absent("timed-out"), message: "x" };
  const unseen = [
    { ...idle, problems: [problem] },
    { ...idle, driver: absent("failed") },
    { ...idle, gpus: [] },
    snapshot([account(0, { state: "incomplete", contexts: [], reason: absent("no-permission") })]),
    snapshot([account(0, listed(), { memoryUsed: absent("lost") })]),
    snapshot([account(0, { state: "unknown", reason: absent("hidden") })]),
  ];
  for (const each of unseen) {
    const last = renderSnapshotTable(each).trimEnd().split("\n").at(-1) ?? "";
    assert.doesNotMatch(last, /Nobody holds|Nothing was left behind/);
    assert.match(last, /not everything could be seen/);
  }
});

test("renderSnapshotTable() says in its head where module and library differ", () => {
  const driver = known({
    version: known("580.159.04"),
    libraryVersion: known("580.95.05"),
    cudaVersion: absent("not-reported"),
  });
  assert.equal(
    renderSnapshotTable({ ...WORLDS.idle, driver }).split("\n")[0],
    "node7, 2026-11-30 09:26:33 UTC, driver 580.159.04, but library 580.95.05",
  );
});

test("renderSnapshotTable() says on its first line that a server is simulated", () => {
  assert.equal(
    renderSnapshotTable(WORLDS.simulated).split("\n")[0],
    "SIMULATED SERVER: no real GPU is behind these numbers",
  );
});
