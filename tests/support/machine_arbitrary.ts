/** Arbitrary machines: forests of processes, few of which could exist and none of which may lead to a wrong end. */
import fc from "fast-check";
import { DEFAULT_CLASSES, type EndingPolicy } from "../../lib/analysis/ending.ts";
import { pid } from "../../lib/core/ids.ts";
import { bytes, milliseconds } from "../../lib/core/units.ts";
import type { ContextKind } from "../../lib/model/gpu.ts";
import { type Owner, PROCESS_STATES } from "../../lib/model/process.ts";
import { HOLDER_CLASSES, type HolderClass } from "../../lib/model/snapshot.ts";
import { FORK_SERVER, KERNEL, slurmOwner, SPAWNED } from "../fixtures/machines/parts.ts";
import { type Hidden, type MachineSpec, type ProcessSpec, type Touch, uuidOf } from "./machine.ts";

type ListState = NonNullable<NonNullable<MachineSpec["gpus"]>[number]["list"]>;

export const DOCKER_ID = "7".repeat(64);
export const LXC_NAME = "web";
/** A pid that no process of these machines has or names. */
export const STRANGER = 90;
/** This program's own pid on every machine. */
export const GPUCTL = 99_999;
const TICKS = 1_000_000;
const CONFIRM_TICKS = 300;
const PIDS = [2, 3, 4, 5, 6, 7, 8, 9];
const DEAD = [20, 21];
/** A parent that is not there. */
const UNSEEN = 77;

export const HIDDEN: readonly Hidden[] = [
  ...["argv", "executable", "identity", "owner", "depth", "namespace", "hangup", "threads"] as const,
  ...["descriptors", "mappings"] as const,
];
const PROGRAMS = [
  ...["/usr/bin/python3.12", "/opt/venv/bin/python3.12", "/usr/bin/bash", "/usr/bin/tmux", "/home/eve/miner"],
  ...["/usr/lib/systemd/systemd", "/sbin/tini", "/usr/sbin/slurmstepd", "/usr/bin/containerd-shim-runc-v2"],
  ...["/usr/bin/nvidia-persistenced", "/usr/lib/xorg/Xorg", "/usr/bin/nvidia-cuda-mps-server"],
  ...["/home/eve/Xorg", "/usr/bin/conmon", "/opt/openmpi/bin/orted"],
];
const ARGUMENTS = [
  ...[SPAWNED, FORK_SERVER, KERNEL, ["VLLM::Worker_TP0"], ["ray::Actor"], ["sglang::scheduler"], []],
  ...[["python3", "train.py"], ["gunicorn: worker [app]"], ["slurmstepd:", "[77.0]"]],
  ...[["containerd-shim", "-id", DOCKER_ID]],
];
const OWNERS: readonly Partial<Owner>[] = [
  { cgroup: "/user.slice/job", isCgroupDeleted: true },
  slurmOwner("77"),
  slurmOwner("sABC"),
  {
    cgroup: `/system.slice/docker-${DOCKER_ID}.scope`,
    unit: `docker-${DOCKER_ID}.scope`,
    container: { id: DOCKER_ID, runtime: "docker", isMonitor: false },
  },
  { cgroup: `/lxc.payload.${LXC_NAME}`, container: { id: LXC_NAME, runtime: "lxc", isMonitor: false } },
  { cgroup: `/lxc.monitor.${LXC_NAME}`, container: { id: LXC_NAME, runtime: "lxc", isMonitor: true } },
  { cgroup: "/system.slice/train.service", unit: "train.service" },
  { cgroup: "/system.slice/cron.service", unit: "cron.service" },
];
const RANK = { TORCHELASTIC_RUN_ID: "none", LOCAL_RANK: "0", MASTER_PORT: "29500" };
const ENVIRONMENTS: readonly NonNullable<ProcessSpec["environment"]>[] = [
  ...[RANK, { ...RANK, MASTER_PORT: "29501" }, { OMPI_COMM_WORLD_RANK: "0" }, { SLURM_JOB_ID: "77" }],
  ...[{ ...RANK, SLURM_JOB_ID: "77" }, { PBS_JOBID: "9" }, { JPY_PARENT_PID: "5" }, "erased" as const],
];

/** Processes as they are found: left behind in every way there is, at work, on their own, a part of the machine. */
const FOUND: readonly Omit<ProcessSpec, "pid">[] = [
  { argv: SPAWNED, touch: "context" },
  { touch: "inherited", sharedWith: [] },
  { argv: [], state: "Z", threadStates: ["Z", "S"], touch: "context" },
  { touch: "context", owner: slurmOwner("77") },
  { touch: "context", environment: RANK },
  { argv: KERNEL, touch: "context", environment: { JPY_PARENT_PID: "5" } },
  { touch: "context", ignoresHangup: true },
  { touch: "context", parent: 2, terminal: 34_816 },
  { touch: "visible", parent: 2, terminal: 34_816 },
  { program: "/usr/bin/bash", argv: ["bash"], terminal: 34_816 },
  { program: "/usr/bin/nvidia-persistenced", touch: "visible" },
  { program: "/usr/bin/nvtop", touch: "monitor" },
];

/** One thing about a process with this pid that is otherwise. */
function changesOf(id: number): fc.Arbitrary<Partial<ProcessSpec>> {
  return fc.oneof(
    fc.record({ parent: fc.constantFrom(1, ...PIDS, 0, UNSEEN, GPUCTL) }),
    fc.record({ program: fc.constantFrom(...PROGRAMS) }),
    fc.record({ argv: fc.constantFrom<readonly string[]>(...ARGUMENTS) }),
    fc.record({ state: fc.constantFrom(...PROCESS_STATES) }),
    fc.record({ threadStates: fc.array(fc.constantFrom(...PROCESS_STATES), { minLength: 1, maxLength: 3 }) }),
    fc.record({ user: fc.constantFrom({ uid: 0, name: "root" }, { uid: 1001, name: "bob" }) }),
    fc.record({ session: fc.constantFrom(id, ...DEAD) }),
    fc.record({ group: fc.constantFrom(id, ...DEAD) }),
    fc.record({ owner: fc.constantFrom(...OWNERS) }),
    fc.record({ environment: fc.constantFrom(...ENVIRONMENTS) }),
    fc.record({ ignoresHangup: fc.boolean() }),
    fc.record({ namespacePids: fc.constantFrom([id, 1], [id, 5], [id, 7], [id, 5, 1]) }),
    fc.record({ isExiting: fc.constant(true) }),
    fc.record({ waitsIn: fc.constantFrom("rpc_wait_bit_killable", "os_acquire_mutex") }),
    fc.record({ startTicks: fc.constantFrom(id * 10 + 1, 999_900, 1_000_100) }),
    fc.record({ touch: fc.constantFrom<Touch[]>("context", "inherited", "visible", "monitor") }),
    fc.record({ on: fc.constantFrom([1], [0, 1]) }),
    fc.record({ mib: fc.constantFrom(0, 900) }),
    fc.record({ kind: fc.constantFrom<ContextKind[]>("mps-client", "graphics", "unknown") }),
    fc.record({
      sharedWith: fc.oneof(
        fc.array(fc.constantFrom(...PIDS), { maxLength: 2 }),
        fc.constant("failed" as const),
      ),
    }),
    fc.record({ hides: fc.subarray([...HIDDEN], { maxLength: 2 }) }),
  );
}

/** One process with this pid: as it is found, with up to three things about it changed. */
export function processes(id: number): fc.Arbitrary<ProcessSpec> {
  return fc.tuple(fc.constantFrom(...FOUND), fc.array(changesOf(id), { maxLength: 3 }))
    .map(([found, changes]) => Object.assign({ ...found, pid: id }, ...changes));
}

/** A machine of up to eight processes. */
export const machines: fc.Arbitrary<MachineSpec> = fc.record({
  processes: fc.subarray(PIDS, { minLength: 1 }).chain((pids) => fc.tuple(...pids.map(processes)))
    .map(shareWithOthers),
  dead: fc.array(
    fc.record({
      pid: fc.constantFrom(...DEAD, ...DEAD, ...PIDS),
      on: fc.constantFrom([0], [0, 1]),
      mib: fc.constant(500),
    }),
    { maxLength: 2 },
  ),
  gpus: fc.tuple(gpu(), gpu()),
  reader: fc.constantFrom<NonNullable<MachineSpec["reader"]>[]>(
    ...Array.from({ length: 6 }, () => ({ isRoot: true, isInitial: true })),
    { isRoot: false, isInitial: true },
    { isRoot: true, isInitial: true, cutShort: "timed-out" },
    { isRoot: false, isInitial: true, cutShort: "hidden" },
    { isRoot: true, isInitial: false },
  ),
  supervisors: fc.subarray(PIDS, { maxLength: 2 }),
  ancestors: fc.subarray(PIDS, { maxLength: 1 }),
  ticks: fc.constant(TICKS),
}, { requiredKeys: ["processes", "dead", "gpus", "reader", "ticks"] });

/** Files are compared with those of processes whose descriptors can be listed, and with no others. */
function shareWithOthers(all: readonly ProcessSpec[]): ProcessSpec[] {
  const open = new Set(
    all.filter(({ touch, hides = [] }) => touch !== undefined && !hides.includes("descriptors"))
      .map(({ pid }) => pid),
  );
  return all.map((process) => {
    const { sharedWith } = process;
    if (sharedWith === undefined || typeof sharedWith === "string") return process;
    return { ...process, sharedWith: sharedWith.filter((pid) => open.has(pid)) };
  });
}

function gpu() {
  return fc.record({ list: fc.constantFrom<ListState[]>("known", "known", "known", "incomplete", "lost") });
}

/** The same machine three seconds later: some processes worked, changed, ended, or gave their pid to another. */
export function laterLook(machine: MachineSpec): fc.Arbitrary<MachineSpec> {
  const changes = fc.constantFrom<(Partial<ProcessSpec> | "gone")[]>(
    ...Array.from({ length: 10 }, () => ({})),
    { cpuTicks: 101 },
    { cpuTicks: 400 },
    { startTicks: 5 },
    { state: "D" },
    { parent: 1 },
    { parent: 2 },
    "gone",
  );
  return fc.tuple(...machine.processes.map(() => changes)).map((all) => ({
    ...machine,
    processes: machine.processes.flatMap((process, place): ProcessSpec[] => {
      const change = all[place];
      return change === "gone" ? [] : [{ ...process, ...change }];
    }),
    ticks: TICKS + CONFIRM_TICKS,
  }));
}

/** What narrows a policy: empty names and those of nobody among them. */
const NARROWING: fc.Arbitrary<Partial<EndingPolicy>> = fc.oneof(
  fc.constant({}),
  fc.record({ gpus: fc.subarray([uuidOf(0), uuidOf(1)]).map((uuids) => new Set(uuids)) }),
  fc.record({ users: fc.subarray(["alice", "bob", "root", ""]).map((names) => new Set(names)) }),
  fc.record({ pids: fc.subarray([1, ...PIDS, ...DEAD]).map((pids) => new Set(pids.map(pid))) }),
  fc.record({
    container: fc.constantFrom("", "7", DOCKER_ID.slice(0, 12), DOCKER_ID, "we", LXC_NAME, "8".repeat(64)),
  }),
  fc.record({ slurmJob: fc.constantFrom("", "7", "77", "sABC") }),
  fc.record({ unit: fc.constantFrom("", "cron.service", "slurmstepd.scope") }),
  fc.record({ cgroup: fc.constantFrom("", "/", "/user.slice", "/system.slice/slurmstepd.scope/job_77") }),
);

/** What may be asked for: any classes on top of the defaults or without them, and up to two names. */
export const policies: fc.Arbitrary<EndingPolicy> = fc.record({
  classes: fc.subarray<HolderClass>([...HOLDER_CLASSES]),
  withDefaults: fc.boolean(),
  narrowing: fc.tuple(NARROWING, NARROWING),
  minAge: fc.constantFrom(milliseconds(0), milliseconds(30_000)),
  minBytes: fc.constantFrom(bytes(0), bytes(0), bytes(600 * 1024 ** 2)),
  protect: fc.constantFrom([], [], ["bob"], ["train"], [""]),
}).map(({ classes, withDefaults, narrowing: [one, other], ...rest }) => ({
  ...rest,
  ...one,
  ...other,
  classes: new Set([...classes, ...withDefaults ? DEFAULT_CLASSES : []]),
}));
