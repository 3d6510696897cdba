import assert from "node:assert/strict";
import { test } from "node:test";
import { narrowSnapshot } from "../../../lib/analysis/narrow_snapshot.ts";
import { sceneUuid } from "../../support/scene_parts.ts";
import { WORLDS } from "../../support/worlds.ts";

const world = WORLDS["unreadable-gpus"];
const [first] = world.unreadableGpus;

test("narrowSnapshot() leaves GPUs out that could not be read, unless they are meant", () => {
  const gpus = [{ uuid: sceneUuid(0) }];
  const of = (unreadable: typeof world.unreadableGpus) => {
    const { gpus: seen, unreadableGpus } = narrowSnapshot(world, { gpus, unreadable });
    return [seen.length, unreadableGpus.map(({ index }) => Number(index))];
  };
  assert.deepEqual(of([]), [1, []]);
  assert.deepEqual(of(first ? [first] : []), [1, [1]]);
  assert.equal(narrowSnapshot(world, { gpus, unreadable: world.unreadableGpus }), world);
});
