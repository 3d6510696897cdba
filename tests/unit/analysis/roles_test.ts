import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { observe, type ProcessSpec } from "../../support/machine.ts";

function classOf(process: Partial<ProcessSpec>): string | undefined {
  const snapshot = attribute(observe({ processes: [{ pid: 50, touch: "context", ...process }] }));
  return snapshot.holders[0]?.class;
}

test("attribute() calls a daemon of the driver a service when it runs from a system directory", () => {
  assert.equal(classOf({ program: "/usr/bin/nvidia-persistenced" }), "service");
});

test("attribute() calls a program with a daemon's name unknown when it runs from somebody's home", () => {
  assert.equal(classOf({ program: "/home/eve/nvidia-persistenced" }), "unknown");
});

test("attribute() does not believe a script's own name: a Python process that calls itself Xorg is no display", () => {
  assert.equal(classOf({ comm: "Xorg", argv: ["Xorg", "-core"], ignoresHangup: true }), "detached");
});

test("attribute() calls Xorg a display and the MPS server what it is", () => {
  assert.equal(classOf({ program: "/usr/lib/xorg/Xorg", kind: "graphics" }), "display");
  assert.equal(classOf({ program: "/usr/bin/nvidia-cuda-mps-server" }), "mps-server");
});

test("attribute() calls whatever a systemd service runs a service, and not what cron merely launched", () => {
  assert.equal(classOf({ owner: { unit: "vllm.service" } }), "service");
  assert.equal(classOf({ owner: { unit: "cron.service" } }), "detached");
});

test("attribute() calls a process with graphics contexts only a display", () => {
  assert.equal(classOf({ program: "/usr/bin/blender", kind: "graphics" }), "display");
});
