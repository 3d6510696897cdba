/** One look at a live machine: the driver asked in another process while /proc is read here, then both joined. */
import { hostname } from "node:os";
import { readdirSync, readFileSync } from "node:fs";
import { isPid, type Pid } from "../core/ids.ts";
import { type Absent, absent, known, type Reading } from "../core/reading.ts";
import { clockTicks, type Milliseconds, milliseconds } from "../core/units.ts";
import { contextsOf, type DriverReport } from "../model/gpu.ts";
import type { Observation, ProcessScan } from "../model/observation.ts";
import type { Host, Problem } from "../model/snapshot.ts";
import { type LiveSource, sourceOptionOf } from "../model/source_choice.ts";
import { unattributedOf } from "../analysis/account.ts";
import { hasEnded } from "../analysis/facts.ts";
import { judgeHolders } from "../analysis/judge.ts";
import type { Libc } from "../native/libc.ts";
import type { DeviceRecogniser } from "../proc/devices.ts";
import { type HolderScan, openProcessScanner, type ProcessScanner } from "../proc/scan.ts";
import { type GpuIdentity, identityReport } from "../source/identity_report.ts";
import type { Clock, LookOptions, Sampler } from "./ports.ts";

/** What a source is to one look: its nodes, its GPUs as the kernel knows them, and its driver. */
export interface Hardware {
  readonly recogniser: DeviceRecogniser;
  readonly readIdentities: () => readonly GpuIdentity[];
  readonly sampler: Sampler;
  /** What the last answer of the sampler leaves out or doubts, beside what its readings say. */
  readonly remarks?: () => readonly Problem[];
  /** The PID namespace in which everybody on this hardware has a pid; the kernel's first unless given. */
  readonly firstPidNamespace?: string | undefined;
  /** The process in which the driver is called now. It opens GPUs and is no finding. */
  readonly helperPid: () => number | undefined;
  /** Ends the sampler without waiting for the driver to let go. Not before a reset. */
  readonly leave: () => void;
}

export interface ObserverWorld {
  readonly libc: Libc;
  readonly clock: Clock;
}

/** A process that ends between two looks is listed for a moment; a ghost stays. */
const GHOST_PAUSE = milliseconds(40);
/** More than this without an explanation is worth reading everybody's mappings for. */
const UNEXPLAINED_BYTES = 64 * 1024 ** 2;
/** What /proc gets beyond the driver's time: it answers also when the driver does not. */
const SCAN_EXTRA = milliseconds(5000);

/** Looks once. Never rejects for a driver that fails or hangs: the observation says so. */
export async function observeMachine(
  source: LiveSource,
  hardware: Hardware,
  look: LookOptions,
  { libc, clock }: ObserverWorld,
): Promise<Observation> {
  // The question is on its way before /proc is read: the driver takes longer than the scan.
  const asked = hardware.sampler.sample(look);
  const deadline = milliseconds(clock.monotonic() + look.within + SCAN_EXTRA);
  const { recogniser, firstPidNamespace } = hardware;
  using scanner = openProcessScanner({ libc, recogniser, clock, firstPidNamespace });
  const holders = await scanner.scanHolders(deadline);
  const joined = await join({ asked, holders, scanner, deadline }, hardware, look, clock);
  const problems: Problem[] = [];
  const report = joined.report.ok ? joined.report : fallBack(hardware, joined.report, problems);
  const sourceOption = sourceOptionOf(source);
  return {
    takenAt: clock.now(),
    ticks: readUptimeTicks(),
    source: joined.report.ok || !report.ok ? source.kind : "proc",
    simulated: source.kind === "sim",
    ...sourceOption !== undefined && { sourceOption },
    host: readHost(),
    report,
    scan: known(joined.scan),
    problems: [...problems, ...hardware.remarks?.() ?? []],
  };
}

interface Parts {
  readonly asked: Promise<Reading<DriverReport>>;
  readonly holders: HolderScan;
  readonly scanner: ProcessScanner;
  readonly deadline: Milliseconds;
}

async function join(
  { asked, holders, scanner, deadline }: Parts,
  { sampler, helperPid }: Hardware,
  look: LookOptions,
  clock: Clock,
): Promise<{ readonly report: Reading<DriverReport>; readonly scan: ProcessScan }> {
  const helper = helperPid();
  const helpers = helper !== undefined && isPid(helper) ? [helper] : [];
  const complete = (listed: readonly Pid[], withAllMappings = false) =>
    scanner.complete(holders, { deadline, listed, helpers, withAllMappings });
  // Whom the driver lists has its nodes open, as a rule. Joined while it still thinks, this is often all there is to do.
  let scan = await complete([]);
  let report = await asked;
  if (listedPids(report).some((pid) => !scan.processes.has(pid))) scan = await complete(listedPids(report));
  if (hasMissing(report, scan)) {
    await clock.pause(GHOST_PAUSE);
    report = await sampler.sample(look);
    scan = await complete(listedPids(report));
  }
  if (isUnexplained(report, scan)) scan = await complete(listedPids(report), true);
  // Whether a worker's owner is gone is said only after everybody was looked at, not the holders alone.
  if (hasOrphan(report, scan)) scan = await complete([...listedPids(report), ...everyPid()]);
  return { report, scan };
}

function listedPids(report: Reading<DriverReport>): Pid[] {
  return report.ok
    ? report.value.gpus.flatMap(({ processList }) => contextsOf(processList).map(({ pid }) => pid))
    : [];
}

function hasOrphan(report: Reading<DriverReport>, scan: ProcessScan): boolean {
  return report.ok &&
    judgeHolders(report.value, scan).holders.some(({ verdict }) => verdict.class === "orphan");
}

function everyPid(): Pid[] {
  return readdirSync("/proc").map(Number).filter(isPid);
}

function hasMissing(report: Reading<DriverReport>, { processes }: ProcessScan): boolean {
  return listedPids(report).some((pid) => {
    const process = processes.get(pid);
    return process === undefined || hasEnded(process);
  });
}

/** Whether memory is left over that no client of the driver, as far as they are known, can explain. */
function isUnexplained(report: Reading<DriverReport>, { uses, coverage }: ProcessScan): boolean {
  if (!report.ok || coverage.cutShort) return false;
  const hasClients = [...uses.values()].some((each) =>
    each.some(({ mappings }) => mappings.ok && mappings.value > 0)
  );
  if (hasClients) return false;
  const gpus = report.value.gpus;
  return gpus.some((gpu) => contextsOf(gpu.processList).length > 0) || gpus.some((gpu) => {
    const left = unattributedOf(gpu);
    return left.ok && left.value > UNEXPLAINED_BYTES;
  });
}

/** The GPUs as the kernel knows them, when the driver gives no answer and there are any. */
function fallBack({ readIdentities }: Hardware, reason: Absent, problems: Problem[]): Reading<DriverReport> {
  const gpus = readIdentities();
  if (gpus.length === 0) return reason;
  problems.push({
    subject: "driver",
    reason,
    message: "The driver gave no answer: what follows is from /proc alone",
  });
  return known(identityReport(gpus, reason));
}

/** Which machine this is, and since which boot. */
export function readHost(): Host {
  return {
    name: known(hostname()),
    bootId: readLine("/proc/sys/kernel/random/boot_id"),
    kernel: readLine("/proc/sys/kernel/osrelease"),
  };
}

function readLine(path: string): Reading<string> {
  try {
    return known(readFileSync(path, "utf8").trim());
  } catch (error) {
    return absent("failed", error instanceof Error ? error.message : String(error));
  }
}

/** Seconds since boot of proc_uptime(5), in the ticks of which there are 100 a second (USER_HZ). */
export function readUptimeTicks() {
  return clockTicks(Math.floor(Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 100));
}
