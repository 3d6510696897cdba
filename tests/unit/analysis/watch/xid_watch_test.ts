import assert from "node:assert/strict";
import { test } from "node:test";
import { XidWatch } from "../../../../lib/analysis/watch/xid_watch.ts";
import { parseBusId, pid } from "../../../../lib/core/ids.ts";
import { absent, known } from "../../../../lib/core/reading.ts";
import { milliseconds } from "../../../../lib/core/units.ts";
import type { XidEvent } from "../../../../lib/model/reset_facts.ts";
import { reportOf } from "../../../support/machine.ts";

const { gpus } = reportOf({ processes: [], gpus: [{}, {}] });

function xid(number: number, differences: Partial<XidEvent> = {}): XidEvent {
  return {
    busId: parseBusId("0000:01:00"),
    xid: number,
    microsecondsSinceBoot: known(1),
    pid: absent("not-reported"),
    name: absent("not-reported"),
    text: "",
    ...differences,
  };
}

function told(watch: XidWatch, at: number, isWatched = true): string[] {
  return watch.conditions(milliseconds(at), { gpus, isWatched: () => isWatched })
    .map(({ severity, message, evidence }) => [severity, message, ...evidence].join("; "));
}

test("XidWatch names the GPU, what the error means, and how often it came", () => {
  const watch = new XidWatch(milliseconds(1000));
  const named = xid(31, { pid: known(pid(812)), name: known("python"), text: "MMU Fault" });
  watch.add([named, named, xid(79)], milliseconds(0));
  assert.deepEqual(told(watch, 0), [
    "warning; Xid 31 on GPU 1: a program's own error: start it again; the driver says: MMU Fault; 2 times so far",
    "err; Xid 79 on GPU 1: the GPU has fallen off the bus",
  ]);
});

test("XidWatch says nothing of a process that was ended, or of GPUs that are not watched", () => {
  const watch = new XidWatch(milliseconds(1000));
  watch.add([xid(45)], milliseconds(0));
  assert.deepEqual(told(watch, 0), []);
  watch.add([xid(79)], milliseconds(0));
  assert.deepEqual(told(watch, 0, false), []);
});

test("XidWatch names a GPU that no longer answers by its address", () => {
  const watch = new XidWatch(milliseconds(1000));
  watch.add([xid(79, { busId: parseBusId("0000:ff:00") })], milliseconds(0));
  assert.deepEqual(told(watch, 0), ["err; Xid 79 on 00000000:ff:00.0: the GPU has fallen off the bus"]);
});

test("XidWatch lets an error stand until it has not come again for a while", () => {
  const watch = new XidWatch(milliseconds(1000));
  watch.add([xid(79)], milliseconds(0));
  watch.add([xid(79)], milliseconds(900));
  watch.add([], milliseconds(1800));
  assert.equal(told(watch, 1800).length, 1);
  watch.add([], milliseconds(1900));
  assert.deepEqual(told(watch, 1900), []);
});

test("XidWatch keeps no more kinds of errors than there can be", () => {
  const watch = new XidWatch(milliseconds(1000));
  watch.add(Array.from({ length: 5000 }, (_, number) => xid(number + 200)), milliseconds(0));
  assert.equal(told(watch, 0).length, 256);
});
