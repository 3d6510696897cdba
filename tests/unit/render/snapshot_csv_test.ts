import { test } from "node:test";
import assert from "node:assert/strict";
import { parse } from "csv-parse/sync";
import { renderSnapshotCsv } from "../../../lib/render/snapshot_csv.ts";
import { assertGolden } from "../../support/golden.ts";
import { WORLDS } from "../../support/worlds.ts";

for (const name of ["forked-child", "hostile", "mig", "container", "hanging-driver"] as const) {
  test(`renderSnapshotCsv() writes ${name}`, () => {
    assertGolden(`snapshot/${name}.csv`, renderSnapshotCsv(WORLDS[name]));
  });
}

test("renderSnapshotCsv() has every holder once on each of its GPUs, and every GPU", () => {
  const world = WORLDS["eight-gpus"];
  const rows: { kind: string; gpuUuid: string; pid: string }[] = parse(renderSnapshotCsv(world), {
    columns: true,
  });
  const expected = world.holders.flatMap(({ pid, devices }) => devices.map(({ gpu }) => `${pid} ${gpu}`));
  assert.deepEqual(rows.map(({ pid, gpuUuid }) => `${pid} ${gpuUuid}`).toSorted(), expected.toSorted());
  assert.deepEqual(new Set(rows.map(({ kind }) => kind)), new Set(["holder"]));
  assert.equal(new Set(rows.map(({ gpuUuid }) => gpuUuid)).size, 8);
});

test("renderSnapshotCsv() does not leave out a GPU of which nothing is listed, nor what could not be listed", () => {
  const rows: { kind: string; processList: string; pid: string; contextBytes: string }[] = parse(
    renderSnapshotCsv(WORLDS.container),
    { columns: true },
  );
  assert.deepEqual(
    rows.map(({ kind, processList, pid, contextBytes }) => ({ kind, processList, pid, contextBytes })),
    [
      { kind: "gpu", processList: "unknown", pid: "", contextBytes: "" },
    ],
  );
});

test("renderSnapshotCsv() has a row for a context of which no process is known", () => {
  const { holders: _, ...rest } = WORLDS.live;
  const rows: { kind: string; pid: string; contextBytes: string; command: string }[] = parse(
    renderSnapshotCsv({ ...rest, holders: [] }),
    { columns: true },
  );
  assert.deepEqual(
    rows.map(({ kind, pid, contextBytes, command }) => ({ kind, pid, contextBytes, command })),
    [
      { kind: "context", pid: "812", contextBytes: String(42_166 * 1024 ** 2), command: "" },
    ],
  );
});
