/** Machines as people meet them, as snapshots by name: what a renderer draws and what a fake world looks at. */
import { gpuUuid } from "../../lib/core/ids.ts";
import { absent, known } from "../../lib/core/reading.ts";
import { percent } from "../../lib/core/units.ts";
import type { MigInstance } from "../../lib/model/gpu.ts";
import type { Snapshot } from "../../lib/model/snapshot.ts";
import {
  account,
  context,
  device,
  endSafely,
  holder,
  listed,
  mib,
  problem,
  snapshot,
  TRAIN_ARGV,
} from "./scene_parts.ts";
import { EIGHT_GPUS } from "./world_of_eight.ts";
import { HALF_SEEN } from "./worlds_half_seen.ts";
import { LEFT_BEHIND } from "./worlds_left_behind.ts";

/** One GPU that nobody uses, and all of it seen. */
const idle = snapshot([account(0, listed())]);

/** One training at work. */
const live = snapshot([account(0, listed(context(812, 42_166)), { utilization: known(percent(97)) })], {
  holders: [
    holder(812, { class: "live", argv: TRAIN_ARGV, state: "R", devices: [device(0, "used", 42_166)] }),
  ],
});

function migInstance(instance: number, usedMib: number): MigInstance {
  return {
    uuid: gpuUuid(`MIG-0000000${instance}-1111-5222-8333-444455556666`),
    gpuInstance: known(instance),
    computeInstance: known(0),
    profile: known("1g.18gb"),
    memoryTotal: known(mib(16_384)),
    memoryUsed: known(mib(usedMib)),
  };
}

/** One GPU cut into MIG devices, one of them in use; another that turns MIG on at its next reset. */
const mig = snapshot([
  account(0, listed(context(3001, 9220, { gpuInstance: 7, computeInstance: 0 })), {
    usedMib: 9250,
    migMode: known({ current: true, pending: true }),
    migInstances: known([migInstance(7, 9235), migInstance(8, 15)]),
  }),
  account(1, listed(), { migMode: known({ current: false, pending: true }) }),
], {
  holders: [
    holder(3001, { class: "live", argv: ["python", "infer.py"], devices: [device(0, "used", 9220)] }),
  ],
});

/** Managed memory, which the driver lists with no process. */
const unattributed = snapshot([
  account(0, listed(context(812, 520)), {
    usedMib: 785,
    cause: "managed memory (cudaMallocManaged) is listed with no process; it can only belong to PID 812",
  }),
], { holders: [holder(812, { class: "live", argv: TRAIN_ARGV, devices: [device(0, "used", 520)] })] });

const ENEMY = "\x1b[2J\x1b]0;owned\x07";

/** A process that calls itself what would clear the screen, end the line and start a formula. */
const hostile = snapshot([account(0, listed(context(666, 518)), { name: known(`NVIDIA ${ENEMY}`) })], {
  holders: [holder(666, {
    class: "orphan",
    user: `eve${ENEMY}`,
    argv: ['=HYPERLINK("http://x")', `a\nPID 1 init\r`, "\u202egpj.exe", "\ud800", "訓練🦊"],
    devices: [device(0, "used", 518)],
    evidence: [`its cgroup has been removed: /${ENEMY}\n/x`],
    advice: endSafely(666),
  }, { name: `=${ENEMY}` })],
  problems: [problem("host", absent("failed", ENEMY), `Cannot read ${ENEMY}`)],
});

/** A simulated server with one job. */
const simulated: Snapshot = { ...live, source: "sim", simulated: true };

/** Every scene by its name. */
export const WORLDS = {
  idle,
  live,
  "eight-gpus": EIGHT_GPUS,
  mig,
  unattributed,
  hostile,
  simulated,
  ...LEFT_BEHIND,
  ...HALF_SEEN,
} as const satisfies Record<string, Snapshot>;
export type WorldName = keyof typeof WORLDS;
