import { test } from "node:test";
import assert from "node:assert/strict";
import { readdirSync, readlinkSync } from "node:fs";
import { bindKcmp } from "../../../lib/native/kcmp.ts";
import { openLibc } from "../../../lib/native/libc.ts";
import { openStage } from "../../support/actor.ts";
import { asNobody, NEEDS_ROOT } from "../../support/as_nobody.ts";

/** The descriptors of a process that lead to a file, in order. */
function descriptorsOf(pid: number, target: string): number[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).map(Number).sort((a, b) => a - b)
    .filter((descriptor) => readlinkSync(`${folder}/${descriptor}`) === target);
}

test("bindKcmp() tells an inherited open file from another one of the same node", NEEDS_ROOT, async () => {
  using libc = await openLibc();
  using stage = openStage();
  const compare = bindKcmp(libc);
  await using actor = await stage.start(["open", "/dev/full", "open", "/dev/full", "child"]);
  const [first = NaN, second = NaN] = descriptorsOf(actor.pid, "/dev/full");
  const own = { task: actor.pid, descriptor: first };
  const child = actor.child ?? NaN;
  assert.equal(compare(own, { task: child, descriptor: first }), "shared");
  assert.equal(compare(own, { task: child, descriptor: second }), "apart");
  assert.equal(compare(own, { task: child, descriptor: 4000 }), "gone");
  assert.equal(compare(own, { task: 4_194_304, descriptor: first }), "gone");
  assert.equal(await asNobody(libc, () => compare(own, { task: child, descriptor: first })), "denied");
});
