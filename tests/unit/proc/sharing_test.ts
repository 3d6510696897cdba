import { test } from "node:test";
import assert from "node:assert/strict";
import { type Pid, pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import type { DeviceNode } from "../../../lib/model/observation.ts";
import type { CompareDescriptors, SharingAnswer } from "../../../lib/native/kcmp.ts";
import type { HeldNodes } from "../../../lib/proc/descriptors.ts";
import { findSharers } from "../../../lib/proc/sharing.ts";

/** Who has which open files of a node: a letter stands for one file, its place for the descriptor. */
function holding(who: Readonly<Record<number, Partial<Record<DeviceNode["kind"], string>>>>) {
  const letters = new Map<string, string>();
  const held = new Map<Pid, HeldNodes>();
  for (const [id, files] of Object.entries(who)) {
    const nodes = Object.entries(files).map(([kind, names], place) => ({
      node: { kind } as DeviceNode,
      descriptors: [...names].map((name, index) => {
        letters.set(`${id}:${place * 10 + index}`, name);
        return place * 10 + index;
      }),
    }));
    held.set(pid(Number(id)), { task: Number(id), nodes });
  }
  let asked = 0;
  const compare: CompareDescriptors = (a, b) => {
    asked++;
    const [first, second] = [a, b].map(({ task, descriptor }) => letters.get(`${task}:${descriptor}`));
    return first === second ? "shared" : "apart";
  };
  return { held, compare, asked: () => asked };
}

const always = (answer: SharingAnswer): CompareDescriptors => () => answer;

test("findSharers() gives everybody who shares an open control node, and nobody else", () => {
  const { held, compare } = holding({
    10: { control: "ab", uvm: "c" },
    11: { control: "ab", uvm: "c" },
    12: { control: "bx" },
    13: { control: "y", uvm: "c" },
  });
  assert.deepEqual(
    findSharers([pid(11), pid(13)], held, compare),
    new Map([[pid(11), known([pid(10), pid(12)])], [pid(13), known([])]]),
  );
});

test("findSharers() asks about nvidia-uvm, then about any node, where there is no control node", () => {
  const { held, compare } = holding({
    10: { other: "a" },
    11: { other: "a" },
    12: { uvm: "u" },
    13: { uvm: "u" },
  });
  assert.deepEqual(
    findSharers([pid(11), pid(12)], held, compare),
    new Map([[pid(11), known([pid(10)])], [pid(12), known([pid(13)])]]),
  );
});

test("findSharers() asks once for each group, not for each pair", () => {
  const crowd = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [index + 10, { control: "a" }]));
  const { held, compare, asked } = holding(crowd);
  findSharers([pid(10)], held, compare);
  assert.equal(asked(), 99);
});

test("findSharers() asks nothing when nobody wants to know", () => {
  const { held, compare, asked } = holding({ 10: { control: "a" }, 11: { control: "a" } });
  assert.deepEqual([findSharers([], held, compare), asked()], [new Map(), 0]);
});

test("findSharers() does not call those apart whom it may not compare", () => {
  const { held } = holding({ 10: { control: "a" }, 11: { control: "a" } });
  assert.deepEqual(
    findSharers([pid(11)], held, always("denied")),
    new Map([[pid(11), absent("no-permission", "kcmp(2)")]]),
  );
  assert.deepEqual(
    findSharers([pid(11)], held, always("unsupported")),
    new Map([[pid(11), absent("not-supported", "this kernel has no kcmp(2)")]]),
  );
});

test("findSharers() goes by the next member of a group when the first has ended", () => {
  const { held, compare } = holding({ 10: { control: "a" }, 11: { control: "a" }, 12: { control: "a" } });
  let isGone = false;
  const withEnd: CompareDescriptors = (a, b) => {
    if (isGone && a.task === 10) return "gone";
    isGone = b.task === 11;
    return compare(a, b);
  };
  assert.deepEqual(
    findSharers([pid(12)], held, withEnd),
    new Map([[pid(12), known([pid(10), pid(11)])]]),
  );
});
