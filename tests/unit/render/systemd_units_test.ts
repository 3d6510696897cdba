import assert from "node:assert/strict";
import { test } from "node:test";
import { milliseconds } from "../../../lib/core/units.ts";
import { type CleaningUnits, renderCleaningUnits } from "../../../lib/render/systemd_units.ts";

const SHIPPED: CleaningUnits = {
  program: "/usr/bin/gpuctl",
  words: ["--yes", "--min-age", "5m"],
  every: milliseconds(600_000),
  limit: milliseconds(300_000),
  needsDriver: true,
  writable: [],
  readable: [],
};

function render(units: Partial<CleaningUnits>): readonly [service: string, timer: string] {
  const [service, timer] = renderCleaningUnits({ ...SHIPPED, ...units });
  return [service.text, timer.text];
}

function settings(text: string): readonly string[] {
  return text.split("\n").filter((line) => /^\w+=/.test(line));
}

test("renderCleaningUnits() gives the unit what its command line names, and nothing else", () => {
  const [plain] = render({});
  const [service] = render({
    program: "/home/ops/gpuctl",
    words: ["--yes", "--source", "sim:/srv/my server", "--protect", "100% of $USER"],
    limit: milliseconds(90_000),
    needsDriver: false,
    writable: ["/srv/my server"],
    readable: ["/home/ops/gpuctl"],
  });
  const before = settings(plain);
  const after = settings(service);
  assert.deepEqual(after.filter((line) => !before.includes(line)), [
    'ExecStart=/home/ops/gpuctl clean-zombies --yes --source "sim:/srv/my server" --protect "100%% of $$USER"',
    "TimeoutStartSec=90s",
    'BindPaths="/srv/my server"',
    "BindReadOnlyPaths=/home/ops/gpuctl",
  ]);
  assert.deepEqual(before.filter((line) => !after.includes(line)), [
    "ConditionPathExists=/proc/driver/nvidia/version",
    "ExecStart=/usr/bin/gpuctl clean-zombies --yes --min-age 5m",
    "TimeoutStartSec=5min",
  ]);
});

test("renderCleaningUnits() makes all spans of the timer follow the interval", () => {
  const spans = (every: number) =>
    settings(render({ every: milliseconds(every) })[1]).filter((line) => line.includes("Sec="));
  assert.deepEqual(spans(10_000), [
    "OnBootSec=10s",
    "OnUnitActiveSec=10s",
    "RandomizedDelaySec=1s",
    "AccuracySec=1s",
  ]);
  assert.deepEqual(spans(86_400_000), [
    "OnBootSec=1440min",
    "OnUnitActiveSec=1440min",
    "RandomizedDelaySec=144min",
    "AccuracySec=1min",
  ]);
});

test("renderCleaningUnits() says why beside everything that is open", () => {
  const [service] = render({ writable: ["/srv/a"] });
  const open = service.slice(service.indexOf("# Closed.")).split("\n\n")[1]?.split("\n") ?? [];
  const isComment = (line: string | undefined) => line?.startsWith("# ") ?? false;
  const groups = open.filter((line, place) => !isComment(line) && isComment(open[place - 1]));
  assert.deepEqual(groups.map((line) => line.split("=")[0]), [
    "CapabilityBoundingSet",
    "DevicePolicy",
    "RestrictAddressFamilies",
    "BindReadOnlyPaths",
    "MemoryDenyWriteExecute",
    "BindPaths",
  ]);
});
