/** Snapshots of every shape that the model allows, for property tests. Names and sentences are as hostile as a process may be. */
import fc from "fast-check";
import { deviceMinor, gpuIndex, gpuUuid, parseBusId, pid, uid } from "../../lib/core/ids.ts";
import { type Absent, absent, known, type Reading, WHYS } from "../../lib/core/reading.ts";
import { bytes, clockTicks, percent } from "../../lib/core/units.ts";
import {
  COMPUTE_MODES,
  type Context,
  CONTEXT_KINDS,
  type Gpu,
  type MigInstance,
  type ProcessList,
  RECOVERY_ACTIONS,
} from "../../lib/model/gpu.ts";
import { type Owner, PROCESS_STATES } from "../../lib/model/process.ts";
import {
  type Ghost,
  type GpuAccount,
  type Holder,
  HOLDER_CLASSES,
  type HolderDevice,
  type HolderJob,
  JOB_LAUNCHERS,
  type Snapshot,
  SOURCE_NAMES,
} from "../../lib/model/snapshot.ts";

/** Text that another process chose: quotes, escape codes, line ends, direction marks, formulas, lone surrogates. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    "python",
    "train.py",
    "",
    "'",
    '"',
    "\\",
    "\\u{1b}",
    "=1+1",
    "'=1",
    "@x",
    "-v",
    "\t",
    "a,b",
    "\r\n",
  ),
  fc.constantFrom(
    "\x1b[2J",
    "\x9b1m",
    "\x7f",
    "a\nb",
    "\u202e",
    "\u2028",
    "\ud800",
    "\udfff\ud800",
    "\0",
    "訓練",
    "🦊",
  ),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ maxLength: 12 }),
);

/** Why a value is missing, with and without a detail. */
export const anyAbsent: fc.Arbitrary<Absent> = fc.tuple(
  fc.constantFrom(...WHYS),
  fc.option(hostileText, { nil: undefined }),
).map(([why, detail]) => absent(why, detail));

/** A reading of some value: mostly known. */
export function anyReading<T>(value: fc.Arbitrary<T>): fc.Arbitrary<Reading<T>> {
  return fc.oneof({ weight: 3, arbitrary: value.map(known) }, { weight: 1, arbitrary: anyAbsent });
}

const anyBytes = fc.maxSafeNat().map(bytes);
const anyCount = fc.nat();
const anyPid = fc.integer({ min: 1, max: 4_194_304 }).map(pid);
const anyUuid = fc.oneof(
  fc.uuid().map((uuid) => gpuUuid(`GPU-${uuid}`)),
  hostileText.filter((text) => text.length > 0 && text.length <= 96).map(gpuUuid),
);
const anyTexts = fc.array(hostileText, { maxLength: 3 });
const anyBusId = fc.tuple(fc.nat(0xffff), fc.nat(0xff), fc.nat(0x1f)).map(([domain, bus, device]) =>
  parseBusId([domain, bus, device].map((part) => part.toString(16)).join(":"))
);

/** Every key, on a plain object: a decoder never makes one without a prototype. */
const EVERY_KEY = { noNullPrototype: true } as const;
/** Any of the keys: what is optional in the model is left out there, never undefined. */
const SOME_KEYS: { noNullPrototype: true; requiredKeys: [] } = { noNullPrototype: true, requiredKeys: [] };

const anyContext: fc.Arbitrary<Context> = fc.tuple(
  fc.record({ pid: anyPid, kind: fc.constantFrom(...CONTEXT_KINDS), used: anyReading(anyBytes) }, EVERY_KEY),
  fc.record({ gpuInstance: anyCount, computeInstance: anyCount, name: hostileText }, SOME_KEYS),
).map(([context, extra]) => ({ ...context, ...extra }));
const anyContexts = fc.array(anyContext, { maxLength: 3 });

const anyProcessList: fc.Arbitrary<ProcessList> = fc.oneof(
  fc.record({ state: fc.constant("known" as const), contexts: anyContexts }, EVERY_KEY),
  fc.record(
    { state: fc.constant("incomplete" as const), contexts: anyContexts, reason: anyAbsent },
    EVERY_KEY,
  ),
  fc.record({ state: fc.constant("unknown" as const), reason: anyAbsent }, EVERY_KEY),
);

const anyMigInstance: fc.Arbitrary<MigInstance> = fc.record({
  uuid: anyUuid,
  gpuInstance: anyReading(anyCount),
  computeInstance: anyReading(anyCount),
  profile: anyReading(hostileText),
  memoryTotal: anyReading(anyBytes),
  memoryUsed: anyReading(anyBytes),
}, EVERY_KEY);

const anyGpu: fc.Arbitrary<Gpu> = fc.record({
  index: fc.nat(65_535).map(gpuIndex),
  uuid: anyUuid,
  name: anyReading(hostileText),
  busId: anyReading(anyBusId),
  minor: anyReading(fc.nat(0xfffff).map(deviceMinor)),
  memoryTotal: anyReading(anyBytes),
  memoryUsed: anyReading(anyBytes),
  memoryReserved: anyReading(anyBytes),
  memoryFree: anyReading(anyBytes),
  usedIncludesReserve: anyReading(fc.boolean()),
  utilization: anyReading(fc.double({ min: 0, max: 100, noNaN: true }).map(percent)),
  persistenceMode: anyReading(fc.boolean()),
  computeMode: anyReading(fc.constantFrom(...COMPUTE_MODES)),
  displayActive: anyReading(fc.boolean()),
  migMode: anyReading(fc.record({ current: fc.boolean(), pending: fc.boolean() }, EVERY_KEY)),
  migInstances: anyReading(fc.array(anyMigInstance, { maxLength: 2 })),
  recoveryAction: anyReading(fc.constantFrom(...RECOVERY_ACTIONS)),
  processList: anyProcessList,
}, EVERY_KEY);

const anyAccount: fc.Arbitrary<GpuAccount> = fc.tuple(
  fc.record({ gpu: anyGpu, unattributed: anyReading(anyBytes) }, EVERY_KEY),
  fc.record({ cause: hostileText }, SOME_KEYS),
).map(([account, extra]) => ({ ...account, ...extra }));

const anyOwner: fc.Arbitrary<Owner> = fc.tuple(
  fc.record({ cgroup: hostileText, isCgroupDeleted: fc.boolean() }, EVERY_KEY),
  fc.record({
    unit: hostileText,
    loginSession: hostileText,
    container: fc.record({
      id: hostileText,
      runtime: fc.constantFrom("docker" as const, "podman" as const, "unknown" as const),
      isMonitor: fc.boolean(),
    }, EVERY_KEY),
    pod: hostileText,
    slurmJob: hostileText,
    slurmStep: hostileText,
  }, SOME_KEYS),
).map(([owner, extra]) => ({ ...owner, ...extra }));

const anyDevice: fc.Arbitrary<HolderDevice> = fc.record({
  gpu: anyUuid,
  contextBytes: anyReading(anyBytes),
  isOpen: anyReading(fc.boolean()),
  isMapped: anyReading(fc.boolean()),
}, EVERY_KEY);

const anyJob: fc.Arbitrary<HolderJob> = fc.tuple(
  fc.record(
    { launcher: fc.constantFrom(...JOB_LAUNCHERS), firstPid: fc.oneof(anyPid, fc.constant(pid(7))) },
    EVERY_KEY,
  ),
  fc.record({ name: hostileText, rank: anyCount }, SOME_KEYS),
).map(([job, extra]) => ({ ...job, ...extra }));

const anyHolder: fc.Arbitrary<Holder> = fc.tuple(
  fc.record({
    pid: anyPid,
    startTicks: anyReading(fc.maxSafeNat().map(clockTicks)),
    uid: anyReading(fc.nat(0xffff_ffff).map(uid)),
    user: anyReading(hostileText),
    argv: anyReading(fc.array(hostileText, { maxLength: 4 })),
    name: hostileText,
    state: anyReading(fc.constantFrom(...PROCESS_STATES)),
    threads: anyReading(anyCount),
    parentPid: anyReading(anyCount),
    owner: anyReading(anyOwner),
    class: fc.constantFrom(...HOLDER_CLASSES),
    evidence: anyTexts,
    advice: hostileText,
    devices: fc.array(anyDevice, { maxLength: 3 }),
  }, EVERY_KEY),
  fc.record({ job: anyJob }, SOME_KEYS),
).map(([holder, extra]) => ({ ...holder, ...extra }));

const anyGhost: fc.Arbitrary<Ghost> = fc.record({
  pid: anyPid,
  gpu: anyUuid,
  contextBytes: anyReading(anyBytes),
  likelyHolders: fc.array(fc.record({ pid: anyPid, reasons: anyTexts }, EVERY_KEY), { maxLength: 2 }),
}, EVERY_KEY);

/** Any snapshot at all. Its parts need not agree with each other: a GPU that a holder names may not be there. */
export const anySnapshot: fc.Arbitrary<Snapshot> = fc.record({
  takenAt: anyReading(
    fc.date({ min: new Date(0), max: new Date("9999-12-31"), noInvalidDate: true }).map((date) =>
      date.toISOString()
    ),
  ),
  source: fc.constantFrom(...SOURCE_NAMES),
  simulated: fc.boolean(),
  host: fc.record({
    name: anyReading(hostileText),
    bootId: anyReading(hostileText),
    kernel: anyReading(hostileText),
  }, EVERY_KEY),
  driver: anyReading(fc.record({
    version: anyReading(hostileText),
    libraryVersion: anyReading(hostileText),
    cudaVersion: anyReading(hostileText),
  }, EVERY_KEY)),
  gpus: fc.array(anyAccount, { maxLength: 3 }),
  unreadableGpus: fc.array(fc.record({ index: fc.nat(65_535).map(gpuIndex), reason: anyAbsent }, EVERY_KEY), {
    maxLength: 2,
  }),
  holders: fc.array(anyHolder, { maxLength: 3 }),
  ghosts: fc.array(anyGhost, { maxLength: 2 }),
  problems: fc.array(
    fc.record({ subject: hostileText, reason: anyAbsent, message: hostileText }, EVERY_KEY),
    {
      maxLength: 2,
    },
  ),
}, EVERY_KEY);
