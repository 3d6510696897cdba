import assert from "node:assert/strict";
import { test } from "node:test";
import { classifyXid, judgeXids, type XidClass } from "../../../lib/analysis/xids.ts";
import { parseBusId, pid } from "../../../lib/core/ids.ts";
import { absent } from "../../../lib/core/reading.ts";
import { xid } from "../../support/reset_scene.ts";

const SCOPE = { busId: parseBusId("0000:00:00.0"), ownKills: [], lastReset: undefined };
const SECOND = 1_000_000;
const TO_NONE = "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)";
const TO_RESET = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";

const CLASSES: readonly [XidClass, string, readonly number[]][] = [
  ["application", "none", [8, 13, 31, 39, 41, 68, 72, 94, 96, 105, 126, 135, 139]],
  ["informational", "none", [43, 63, 92, 107, 147, 148, 161]],
  ["preemption", "none", [45]],
  ["reset", "reset", [46, 62, 64, 74, 95, 109, 119, 120, 140, 143, 145, 150, 158]],
  ["drain", "drain", [48]],
  ["reboot", "reboot", [79]],
  ["restart-vm", "reboot", [151]],
  ["hardware", "unknown", [54, 78]],
  ["unclassified", "unknown", [61, 162, 170, 173, 176, 999]],
];

for (const [name, action, xids] of CLASSES) {
  test(`classifyXid() calls Xid ${xids.join(", ")} ${name}, which asks for ${action}`, () => {
    assert.deepEqual(
      xids.map((each) => classifyXid({ xid: each, text: "" })).map((found) => [found.class, found.action]),
      xids.map(() => [name, action]),
    );
  });
}

test("classifyXid() takes an NVLink error that is not fatal for a notice", () => {
  const actions = ["Nonfatal XC1 i0 Link 02", "Non-Fatal XC0", "Fatal XC0 i0 Link 02"].map((text) =>
    classifyXid({ xid: 149, text }).action
  );
  assert.deepEqual(actions, ["none", "none", "reset"]);
});

test("classifyXid() reads the action that Xid 154 changes to, never the one it changes from", () => {
  const words = [
    "None",
    "GPU Reset Required",
    "PF FLR",
    "Node Reboot Required",
    "Drain and Reset",
    "Drain P2P",
  ];
  assert.deepEqual(
    words.map((word) =>
      classifyXid({
        xid: 154,
        text: `GPU recovery action changed from 0x2 (Node Reboot Required) to 0x9 (${word})`,
      })
        .action
    ),
    ["none", "reset", "reset", "reboot", "drain", "drain"],
  );
  assert.equal(classifyXid({ xid: 154, text: "something else" }).action, "unknown");
  assert.equal(classifyXid({ xid: 154, text: "changed from 0x0 (None) to 0x9 (Dance)" }).action, "unknown");
});

test("judgeXids() takes the most drastic that stands, and tells the newest first", () => {
  const events = [xid(48, 60 * SECOND, "DBE"), xid(119, 90 * SECOND), xid(119, 95 * SECOND, "Timeout")];
  assert.deepEqual(judgeXids(events, SCOPE), {
    action: "drain",
    reasons: [
      "Xid 119 2 times, last 1 min 35 s after boot (asks for a reset): Timeout",
      "Xid 48 1 min after boot (a double-bit memory error: drain the GPU, then reset it): DBE",
    ],
  });
});

test("judgeXids() lets the driver's own word overrule what came before it, and not what came after", () => {
  assert.deepEqual(judgeXids([xid(79, SECOND), xid(154, 2 * SECOND, TO_NONE)], SCOPE), {
    action: "none",
    reasons: [`Xid 154 2 s after boot (the recovery action has changed): ${TO_NONE}`],
  });
  assert.equal(judgeXids([xid(154, SECOND, TO_RESET), xid(154, 2 * SECOND, TO_NONE)], SCOPE).action, "none");
  assert.equal(judgeXids([xid(154, SECOND, TO_NONE), xid(79, 2 * SECOND)], SCOPE).action, "reboot");
});

test("judgeXids() leaves out other GPUs, and what came before the last reset", () => {
  const other = { ...xid(79, 3 * SECOND), busId: parseBusId("0000:3b:00.0") };
  assert.deepEqual(judgeXids([other, xid(119, SECOND)], { ...SCOPE, lastReset: 2 * SECOND }), {
    action: "none",
    reasons: [],
  });
});

test("judgeXids() leaves out what the driver logs of processes that we ended, at about that time", () => {
  const kills = [{ pid: pid(812), microsecondsSinceBoot: 10 * SECOND }];
  const events = [
    xid(45, 11 * SECOND, "", 812),
    xid(31, 11 * SECOND, "", 812),
    xid(43, 11 * SECOND, "", 812),
  ];
  const spread = [...events, xid(31, 12 * SECOND, "", 813), xid(31, 12 * SECOND, "", 814)];
  assert.deepEqual(judgeXids(spread, { ...SCOPE, ownKills: kills }), { action: "none", reasons: [] });
  const later = xid(31, 900 * SECOND, "", 812);
  assert.deepEqual(judgeXids([...spread, later], { ...SCOPE, ownKills: kills }), {
    action: "none",
    reasons: ["Xid 13 or 31 for 3 processes: so many at once may come of the hardware; have it tested"],
  });
});

test("judgeXids() takes a lone Xid 45 for nothing, and an error without a time for one that counts", () => {
  const timeless = { ...xid(95, 0), microsecondsSinceBoot: absent("not-reported") };
  assert.deepEqual(judgeXids([xid(45, SECOND)], SCOPE), { action: "none", reasons: [] });
  assert.deepEqual(judgeXids([timeless], { ...SCOPE, lastReset: SECOND }), {
    action: "reset",
    reasons: ["Xid 95 in the kernel log (asks for a reset)"],
  });
});
