/** Gives the words of a text their meaning: from raw GPUs to the model's report of the driver. */
import { type GpuIndex, gpuIndex, type GpuUuid, gpuUuid } from "../../core/ids.ts";
import { type Absent, absent, known, type Reading, valueOf } from "../../core/reading.ts";
import { plural } from "../../core/text.ts";
import type { Driver, DriverReport, Gpu, MigInstance, PendingMode, RecoveryAction } from "../../model/gpu.ts";
import { standInMigUuid, standInUuid } from "../../model/gpu_identity.ts";
import { processListOf } from "./listing.ts";
import type { ProblemLog } from "./problem_log.ts";
import type { RawGpu, RawMigDevice, RawPart } from "./raw.ts";
import {
  busIdOf,
  computeModeOf,
  countOf,
  findAbsence,
  memoryOf,
  minorOf,
  percentOf,
  productNameOf,
  recoveryActionOf,
  switchOf,
  versionOf,
} from "./values.ts";

/** From 510 on `used` leaves the driver's reserve out (nvmlMemory_v2_t). */
const FIRST_WITHOUT_RESERVE = 510;

/** What can tell a GPU from another. */
const KEYS = ["uuid", "pci.bus_id", "index"] as const;

/** A GPU with the two keys that it always has. */
interface Identity {
  readonly raw: RawGpu;
  readonly index: GpuIndex;
  readonly uuid: GpuUuid;
}

/** The driver and its GPUs as a text shows them. What is doubtful about them goes to the problems. */
export function reportOf({ machine, gpus, problems }: RawPart): DriverReport {
  const driver: Driver = {
    version: versionOf(machine.get("driver_version")),
    libraryVersion: versionOf(machine.get("nvml_version")),
    cudaVersion: versionOf(machine.get("cuda_version")),
  };
  const identities = identify(gpus, problems);
  const report = {
    driver,
    gpus: identities.map((each) => gpuOf(each, driver, problems)).sort((a, b) => a.index - b.index),
    unreadableGpus: [],
  };
  noteDoubts(report, machine, problems);
  return report;
}

function gpuOf({ raw, index, uuid }: Identity, driver: Driver, problems: ProblemLog): Gpu {
  const field = (name: string) => raw.fields.get(name);
  const condition = findCondition(raw);
  // A GPU that is lost or wants a reset answers with zeros beside its refusals.
  const measure = <T>(name: string, read: (text: string | undefined) => Reading<T>): Reading<T> => {
    const reading = read(field(name));
    if (!condition || (!reading.ok && field(name) !== undefined)) return reading;
    const doubt = `"${field(name)?.trim()}" printed beside ${condition.detail}`;
    return reading.ok ? absent(condition.why, doubt) : condition;
  };
  const memoryReserved = measure("memory.reserved", memoryOf);
  const subject = `GPU ${index}`;
  const memoryUsed = measure("memory.used", memoryOf);
  const used = raw.fields.has("memory.used") ? memoryUsed : undefined;
  return {
    index,
    uuid,
    name: productNameOf(field("name")),
    busId: busIdOf(field("pci.bus_id")),
    minor: minorOf(field("minor_number")),
    memoryTotal: measure("memory.total", memoryOf),
    memoryUsed,
    memoryReserved,
    memoryFree: measure("memory.free", memoryOf),
    usedIncludesReserve: reserveRule(driver, memoryReserved),
    utilization: measure("utilization.gpu", percentOf),
    persistenceMode: switchOf(field("persistence_mode")),
    computeMode: computeModeOf(field("compute_mode")),
    displayActive: switchOf(field("display_active")),
    migMode: migModeOf(raw),
    migInstances: raw.mig === undefined
      ? absent("not-reported")
      : known(raw.mig.map((device) => migInstanceOf(device, uuid))),
    recoveryAction: recoveryOf(raw, condition),
    processList: processListOf(raw.listing, { subject, used, condition }, problems),
  };
}

/** Gives each GPU the index and UUID that the text prints, or ones that stand in for them. */
function identify(gpus: readonly RawGpu[], problems: ProblemLog): Identity[] {
  const taken = new Set<number>();
  const printed = gpus.map(({ fields }) => {
    const index = valueOf(countOf(fields.get("index")));
    if (index === undefined || index > 65_535 || taken.has(index)) return undefined;
    taken.add(index);
    return gpuIndex(index);
  });
  const unnumbered = printed.filter((index) => index === undefined).length;
  if (gpus.some(({ fields }) => !KEYS.some((key) => fields.has(key)))) {
    problems.add("GPUs", absent("not-reported"), "The text does not say on which GPU its processes are");
  } else if (unnumbered > 0) {
    const message = `The text gives no index for ${
      plural(unnumbered, "GPU")
    }: numbered here in the order of the text`;
    problems.add("GPU index", absent("not-reported"), message);
  }
  const uuids = countUuids(gpus);
  if ([...uuids.values()].some((count) => count > 1)) {
    const message = "The text gives several GPUs the same UUID: they are told apart by address or index";
    problems.add("GPU UUID", absent("implausible"), message);
  }
  let next = 0;
  return gpus.map((raw, place): Identity => {
    let index = printed[place];
    if (index === undefined) {
      while (taken.has(next)) next++;
      index = gpuIndex(next++);
    }
    const uuid = findUuid(raw);
    if (uuid !== undefined && uuids.get(uuid) === 1) return { raw, index, uuid: gpuUuid(uuid) };
    const busId = valueOf(busIdOf(raw.fields.get("pci.bus_id")));
    const keys = {
      ...(busId === undefined ? {} : { busId }),
      ...(printed[place] === undefined ? {} : { index }),
    };
    return { raw, index, uuid: standInUuid(keys) };
  });
}

function findUuid({ fields }: RawGpu): string | undefined {
  const text = fields.get("uuid")?.trim() ?? "";
  return /^(?:GPU|MIG)-[\w/-]{1,90}$/.test(text) ? text : undefined;
}

function countUuids(gpus: readonly RawGpu[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const gpu of gpus) {
    const uuid = findUuid(gpu);
    if (uuid !== undefined) counts.set(uuid, (counts.get(uuid) ?? 0) + 1);
  }
  return counts;
}

/** Whether any value of a GPU says that the GPU as a whole is lost or needs a reset. */
function findCondition({ fields, listing }: RawGpu): Absent | undefined {
  const reasons = [...fields.values()].map(findAbsence);
  reasons.push(listing?.reason);
  return reasons.find((reason) => reason?.why === "lost") ??
    reasons.find((reason) => reason?.why === "reset-required");
}

function recoveryOf({ fields }: RawGpu, condition: Absent | undefined): Reading<RecoveryAction> {
  const action = recoveryActionOf(fields.get("gpu_recovery_action"));
  if (action.ok) return action;
  if (condition?.why === "reset-required") return known("reset");
  // Drivers 535 to 575. `No` to both leaves the other actions open.
  if (valueOf(switchOf(fields.get("reset_status.reset_required"))) === true) return known("reset");
  const drain = switchOf(fields.get("reset_status.drain_and_reset_recommended"));
  return valueOf(drain) === true ? known("drain-and-reset") : action;
}

function reserveRule(driver: Driver, reserved: Gpu["memoryReserved"]): Reading<boolean> {
  if (reserved.ok) return known(false);
  if (!driver.version.ok) return absent("not-reported", "the text does not name the driver's version");
  return known(Number.parseInt(driver.version.value, 10) < FIRST_WITHOUT_RESERVE);
}

function migModeOf({ fields }: RawGpu): Reading<PendingMode> {
  const current = switchOf(fields.get("mig.mode.current"));
  const pending = switchOf(fields.get("mig.mode.pending"));
  if (!current.ok) return current;
  return pending.ok ? known({ current: current.value, pending: pending.value }) : pending;
}

/** Devices of one GPU instance all print that instance's memory. */
function migInstanceOf(
  { device, gpuInstance, computeInstance, fields }: RawMigDevice,
  gpu: GpuUuid,
): MigInstance {
  const gi = countOf(gpuInstance);
  const ci = countOf(computeInstance);
  const uuid = fields.get("uuid")?.trim() ?? "";
  const ids = gi.ok ? [gi.value, valueOf(ci)] : [valueOf(countOf(device))];
  return {
    uuid: uuid.startsWith("MIG-") && uuid.length <= 96 ? gpuUuid(uuid) : standInMigUuid(gpu, ids),
    gpuInstance: gi,
    computeInstance: ci,
    profile: productNameOf(fields.get("profile")),
    memoryTotal: memoryOf(fields.get("memory.total")),
    memoryUsed: memoryOf(fields.get("memory.used")),
  };
}

function noteDoubts(
  { driver, gpus }: DriverReport,
  machine: ReadonlyMap<string, string>,
  problems: ProblemLog,
): void {
  const attached = valueOf(countOf(machine.get("attached_gpus")));
  if (attached !== undefined && attached !== gpus.length) {
    const message = `The text shows ${gpus.length} of ${
      plural(attached, "GPU")
    }: it is a filtered view, or was shortened`;
    problems.add("GPUs", absent("not-reported"), message);
  }
  const smi = valueOf(versionOf(machine.get("smi_version")));
  if (smi !== undefined && driver.version.ok && smi !== driver.version.value) {
    const message =
      `nvidia-smi is of version ${smi}, the driver of ${driver.version.value}: usual in containers and WSL`;
    problems.add("nvidia-smi", absent("not-reported", smi), message);
  }
}
