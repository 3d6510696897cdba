import { test } from "node:test";
import assert from "node:assert/strict";
import { gpuUuid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { HOLDER_CLASSES } from "../../../lib/model/snapshot.ts";
import { CONCERNS, formatGpus, formatShortCommand, nameGpus } from "../../../lib/render/snapshot_columns.ts";
import { sceneUuid } from "../../support/scene_parts.ts";
import { WORLDS } from "../../support/worlds.ts";

test("formatGpus() names a GPU that the snapshot does not have by its UUID", () => {
  const names = nameGpus(WORLDS["eight-gpus"]);
  const stranger = gpuUuid("GPU-9f9f9f9f-0000-4000-8000-000000000000");
  assert.equal(formatGpus([sceneUuid(2), sceneUuid(0), sceneUuid(1), stranger], names), "0-2,GPU-9f9f9f9f");
});

test("formatGpus() shows what a file calls a GPU, and does not let the terminal obey it", () => {
  assert.equal(formatGpus([gpuUuid("\x1b[2J\u202e")], new Map()), "\\u{1b}[2J\\u{202e}");
});

test("formatShortCommand() leaves the program's folder out, and names who has no arguments", () => {
  const commands: readonly [readonly string[], string][] = [
    [["/opt/conda/bin/python", "train.py", "a b"], "python train.py 'a b'"],
    [["python"], "python"],
    [["./run/me"], "./run/me"],
    [["ray::train http://x/y"], "'ray::train http://x/y'"],
    [["/"], "/"],
    [["/a b/c"], "'/a b/c'"],
    [[], "[worker]"],
  ];
  assert.deepEqual(
    commands.map(([argv]) => formatShortCommand({ argv: known(argv), name: "worker" })),
    commands.map(([, text]) => text),
  );
  assert.equal(formatShortCommand({ argv: absent("exited"), name: "worker" }), "[worker]");
});

test("CONCERNS calls nobody left behind who may be at work", () => {
  assert.deepEqual(HOLDER_CLASSES.filter((name) => CONCERNS[name] === "left-behind"), [
    "job-leftover",
    "zombie-leader",
    "inherited",
    "orphan",
  ]);
});
