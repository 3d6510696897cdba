import { test } from "node:test";
import assert from "node:assert/strict";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import type { Holder } from "../../../lib/model/snapshot.ts";
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

/** A rank of a job with this name, on a GPU of its own. */
function rankOf(name: string, rank: number, more: Partial<Holder> = {}): Holder {
  return holder(700 + rank, { class: "live", argv: ["x"], devices: [device(rank, "used", 1024)] }, {
    job: { launcher: "mpi", firstPid: pid(700), name, rank },
    ...more,
  });
}

function jobLineOf(holders: readonly Holder[]): string[] {
  const text = renderSnapshotTable(snapshot([account(0, listed()), account(1, listed())], { holders }));
  return text.split("\n").filter((line) => line.includes("MPI job"));
}

test("renderSnapshotTable() says in each block how much of a job stands there", () => {
  const stopped = rankOf("n", 1, { class: "stopped", evidence: ["is suspended"] });
  assert.deepEqual(jobLineOf([rankOf("n", 0), stopped]), [
    "      MPI job n, 1 of its 2 ranks on GPU 1: 1 GiB (PID 701)",
    "      MPI job n, 1 of its 2 ranks on GPU 0: 1 GiB (PID 700)",
  ]);
});

test("renderSnapshotTable() says nothing of a job that is one process, or whose parts it cannot tell", () => {
  const { job: _job, ...other } = rankOf("n", 1);
  assert.deepEqual(jobLineOf([rankOf("n", 0), other]), []);
});

test("renderSnapshotTable() counts processes where some have no rank's number", () => {
  const unnumbered = rankOf("n", 1, { job: { launcher: "mpi", firstPid: pid(700) } });
  assert.deepEqual(jobLineOf([rankOf("n", 0), unnumbered]), [
    "      MPI job n, 2 processes on GPU 0-1: 2 GiB (PID 700-701)",
  ]);
});

test("renderSnapshotTable() obeys no job's name, and cuts a long one", () => {
  const hostile = `\x1b[2J${"x".repeat(100)}`;
  const [line = ""] = jobLineOf([rankOf(hostile, 0), rankOf(hostile, 1)]);
  assert.equal(
    line,
    `      MPI job \\u{1b}[2J${"x".repeat(55)}…, 2 ranks on GPU 0-1: 2 GiB (PID 700-701)`,
  );
});

test("renderSnapshotTable() tells apart what was seen of ranks of two jobs, and what is no rank's number", () => {
  const orphan = (rank: number, more: Partial<Holder>) =>
    rankOf("n", rank, { class: "orphan", evidence: [`has LOCAL_RANK=${rank}`], advice: "End it.", ...more });
  const why = (...holders: readonly Holder[]) =>
    renderSnapshotTable(snapshot([account(0, listed()), account(1, listed())], { holders }))
      .split("\n").filter((line) => line.includes("why:")).map((line) => line.trim());

  assert.deepEqual(why(orphan(0, {}), orphan(1, {})), ["why:  has LOCAL_RANK=0-1"]);
  assert.deepEqual(why(orphan(0, {}), orphan(1, { job: { launcher: "mpi", firstPid: pid(701), rank: 1 } })), [
    "why:  has LOCAL_RANK=0",
    "why:  has LOCAL_RANK=1",
  ]);
  assert.deepEqual(why(orphan(0, {}), orphan(1, { evidence: ["has PORT=1"] })), [
    "why:  has LOCAL_RANK=0",
    "why:  has PORT=1",
  ]);
});
