import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { renderSnapshotTable } from "../../../lib/render/snapshot_table.ts";
import { observe } from "../../support/machine.ts";

test("attribute() has every hint name the machine that was looked at, if it has to be named", () => {
  const seen = observe({ processes: [{ pid: 910, touch: "inherited" }], dead: [{ pid: 900, mib: 4096 }] });
  const option = "--source sim:/tmp/server";
  const [plain, named] = [attribute(seen), attribute({ ...seen, sourceOption: option })];

  assert.deepEqual([plain, named].map(({ holders }) => holders[0]?.advice.split(". ")[0]), [
    "To end it safely: gpuctl clean-zombies --pid 910",
    `To end it safely: gpuctl clean-zombies ${option} --pid 910`,
  ]);
  assert.match(
    renderSnapshotTable(named),
    /PID 910 was left behind: gpuctl clean-zombies --source sim:\/tmp\/server shows how to end it safely\./,
  );
});
