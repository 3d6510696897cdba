import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../../lib/core/reading.ts";
import { encodeSnapshot } from "../../../lib/model/encode.ts";
import { renderJson } from "../../../lib/render/json.ts";
import { assertGolden } from "../../support/golden.ts";
import { account, context, snapshot } from "../../support/scene_parts.ts";
import { WORLDS } from "../../support/worlds.ts";

for (const name of ["forked-child", "hostile", "mig", "container", "hanging-driver"] as const) {
  test(`encodeSnapshot() writes ${name} as JSON`, () => {
    assertGolden(`snapshot/${name}.json`, renderJson(encodeSnapshot(WORLDS[name])));
  });
}

test("encodeSnapshot() points from each missing value to its reason", () => {
  const world = {
    ...WORLDS.idle,
    host: {
      name: known("node7"),
      bootId: absent("no-permission", "/proc/sys/kernel/random/boot_id"),
      kernel: known("6.18.0"),
    },
  };
  const { host, problems } = encodeSnapshot(world);
  assert.equal(host.bootId, null);
  assert.deepEqual(problems[0], {
    at: "/host/bootId",
    subject: "the host",
    why: "no-permission",
    detail: "/proc/sys/kernel/random/boot_id",
    message: "bootId of the host is not known: no permission (/proc/sys/kernel/random/boot_id)",
  });
});

test("encodeSnapshot() never writes a list that is not known as an empty one", () => {
  const json = encodeSnapshot(WORLDS.container);
  assert.deepEqual([json.gpus[0]?.processList, json.gpus[0]?.contexts], ["unknown", null]);
  assert.deepEqual(json.problems.find(({ at }) => at === "/gpus/0/contexts"), {
    at: "/gpus/0/contexts",
    subject: "GPU 0",
    why: "hidden",
    detail: "PID namespace",
    message: "contexts of GPU 0 is not known: hidden from here (PID namespace)",
  });
});

test("encodeSnapshot() keeps what an incomplete list has, and why it is not whole", () => {
  const reason = absent("no-permission", "1 row");
  const json = encodeSnapshot(
    snapshot([account(0, { state: "incomplete", contexts: [context(7, 1)], reason })]),
  );
  assert.deepEqual([json.gpus[0]?.processList, json.gpus[0]?.contexts?.length], ["incomplete", 1]);
  assert.deepEqual(
    json.problems.filter(({ at }) => at === "/gpus/0/contexts").map(({ why, detail }) => [why, detail]),
    [
      ["no-permission", "1 row"],
    ],
  );
});
