/** The real world: this machine's clock, terminal, files, processes and driver. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { attribute } from "../analysis/attribute.ts";
import { GpuctlError } from "../core/errors.ts";
import { failureOf, stateOfPlace } from "../core/file_errors.ts";
import type { Observation } from "../model/observation.ts";
import type { Snapshot } from "../model/snapshot.ts";
import type { LiveSource, SourceChoice } from "../model/source_choice.ts";
import { bindFlock } from "../native/flock.ts";
import { type Libc, openLibc } from "../native/libc.ts";
import { type DeviceRecogniser, readDeviceRecogniser } from "../proc/devices.ts";
import { openProcessTable } from "../proc/table.ts";
import type { HelperRequest } from "../source/helper/frames.ts";
import { type Helper, openHelper } from "../source/helper/open_helper.ts";
import { stuckRecordsOf } from "../source/helper/stuck.ts";
import type { SmiSource } from "../source/smi/live.ts";
import { readGpuIdentities } from "../source/identity_report.ts";
import { openAuditFile } from "./audit_log.ts";
import { realClock } from "./clock.ts";
import { realFiles } from "./files.ts";
import type { EarlyHelper } from "./early_helper.ts";
import { catchSignals } from "./signal_handlers.ts";
import { createLocks } from "./locks.ts";
import { createNotes } from "./notes.ts";
import { type Hardware, observeMachine } from "./observe.ts";
import { realOutputFiles } from "./output_files.ts";
import { auditPath, type User } from "./places.ts";
import type { LookOptions, ProcessTable, World } from "./ports.ts";
import { realDetails, realOrigins } from "./process_details.ts";
import { selfCommand } from "./self.ts";
import { openTerminal } from "./terminal.ts";

/** What was done before there was a world. */
export interface Start {
  readonly early: EarlyHelper;
  /** Descriptors that this program was given beside the first three. */
  readonly given: readonly number[];
}

/** Opens the real world. What costs time is loaded when it is first asked for. */
export async function openWorld({ early, given }: Start): Promise<World> {
  const libc = await openLibc();
  const user = readUser();
  const base = { libc, user, processes: openProcessTable(libc), self: selfCommand(), early };
  const { processes, self } = base;
  const terminal = openTerminal(variable, libc);
  return {
    clock: realClock,
    terminal,
    files: realFiles,
    outputs: realOutputFiles,
    details: realDetails,
    origins: realOrigins,
    processes,
    self,
    variable,
    variableNames: () => Object.keys(process.env),
    locks: createLocks(user, bindFlock(libc)),
    notes: createNotes(user),
    look: (source, options) => look(source, options, base),
    observe: (source, options) => observe(source, options, base),
    openSampler: async (source) => (await openHardware(source, base)).sampler,
    openObserver: async (source) => {
      const hardware = await openHardware(source, base);
      const { sampler } = hardware;
      return {
        sample: (options) => sampler.sample(options),
        observe: (options) => observeMachine(source, hardware, options, { libc, clock: realClock }),
        [Symbol.asyncDispose]: () => sampler[Symbol.asyncDispose](),
      };
    },
    openKernelLog: async (source) => {
      if (source.kind !== "sim") return (await import("../proc/kernel_log_follower.ts")).followKernelLog();
      return (await import("../source/sim/kernel_log.ts")).followSimLog(resolve(source.directory));
    },
    runShell: async (line, options) => await (await import("./run_shell.ts")).runShell(line, options),
    openUses: async (source) => {
      const { openUseReader } = await import("../proc/use_reader.ts");
      return openUseReader({ libc, clock: realClock, recogniser: await recogniserOf(source) });
    },
    openPopulation: async () =>
      (await import("../proc/population.ts")).openPopulation(libc, { clock: realClock }),
    openAuditLog: (path, source) => openAuditFile(path ?? auditPath(source, user), user),
    catchSignals,
    openResetTools: async (source, { smi }) => {
      const { openResetTools } = await import("./reset_tools.ts");
      const leaveEarly = () => early[Symbol.dispose]();
      return await openResetTools(source, {
        smi,
        searchPath: searchPathOf(user),
        clock: realClock,
        openHelper: (request) => openDriver(request, base),
        leaveEarly,
      });
    },
    openExamination: async (source) => {
      const { openExamination } = await import("./examination.ts");
      const record = () => openAuditFile(auditPath(source, user), user).read();
      return await openExamination(source, { variable, record });
    },
    openJobRunner: async (orphans = "adopted") => {
      const { openJobRunner } = await import("./job_runner.ts");
      return await openJobRunner({ processes, given, orphans });
    },
    simulation: {
      init: async (directory, plan) => (await openSimulation()).init(directory, plan),
      hold: async (plan) => (await openSimulation()).hold(plan),
      work: async () => (await openSimulation()).work(),
    },
    openSystemd: async () => {
      const { openSystemd, SYSTEMD_PLACES } = await import("./systemd.ts");
      return openSystemd(SYSTEMD_PLACES, user);
    },
    temporaryFolder: makeTemporaryFolder,
  };

  async function openSimulation() {
    const simulation = await import("../source/sim/simulation.ts");
    return simulation.openSimulation({ self, terminal, clock: realClock, variable });
  }
}

interface Base {
  readonly libc: Libc;
  readonly user: User;
  readonly processes: ProcessTable;
  readonly self: readonly string[];
  readonly early: EarlyHelper;
}

async function look(source: SourceChoice, options: LookOptions, base: Base): Promise<Snapshot> {
  if (source.kind === "file") {
    const { readSavedLook } = await import("./saved_look.ts");
    return readSavedLook(source.path);
  }
  return attribute(await observe(source, options, base));
}

async function observe(source: LiveSource, options: LookOptions, base: Base): Promise<Observation> {
  const hardware = await openHardware(source, base);
  try {
    return await observeMachine(source, hardware, options, { libc: base.libc, clock: realClock });
  } finally {
    // The driver takes some milliseconds to let go of its files; nobody has to wait for that here.
    hardware.leave();
  }
}

/** What a source's device nodes are known by. */
async function recogniserOf(source: LiveSource): Promise<DeviceRecogniser> {
  if (source.kind !== "sim") return readDeviceRecogniser();
  return (await import("../source/sim/recogniser.ts")).simRecogniser(resolve(source.directory));
}

async function openHardware(source: LiveSource, base: Base): Promise<Hardware> {
  if (source.kind === "sim") {
    const [recogniser, { readSimIdentities }, { readSimServer }] = await Promise.all([
      recogniserOf(source),
      import("../source/sim/identities.ts"),
      import("../source/sim/server.ts"),
    ]);
    const directory = resolve(source.directory);
    const helper = openDriver({ source: "sim", directory }, base);
    return {
      recogniser,
      firstPidNamespace: readSimServer(directory).pidNamespace,
      readIdentities: () => readSimIdentities(directory),
      ...helperParts(helper),
    };
  }
  if (source.kind === "nvidia-smi") {
    const sampler = await openSmi(base);
    return {
      ...realNodes(),
      sampler,
      remarks: () => sampler.problems,
      helperPid: () => undefined,
      leave: () => {},
    };
  }
  const request = { source: "nvml", ...source.library !== undefined && { library: source.library } } as const;
  return { ...helperParts(openDriver(request, base)), ...realNodes() };
}

function helperParts(helper: Helper): Pick<Hardware, "sampler" | "helperPid" | "leave"> {
  return { sampler: helper, helperPid: () => helper.pid, leave: () => helper.leave() };
}

function realNodes(): Pick<Hardware, "recogniser" | "readIdentities"> {
  return { recogniser: readDeviceRecogniser(), readIdentities: readGpuIdentities };
}

/** The helper that was started ahead of the question, if it asks the same driver; another one otherwise. */
function openDriver(request: HelperRequest, { self, processes, user, early }: Base): Helper {
  const ready = early.take(request);
  if (ready) return ready;
  const records = stuckRecordsOf(user.uid, user.runtimeDirectory);
  return openHelper({ command: self, request, parentPid: process.pid, clock: realClock, processes, records });
}

async function openSmi({ processes, user }: Base): Promise<SmiSource> {
  const [{ findSmi }, { SmiSource }] = await Promise.all([
    import("../source/smi/locate.ts"),
    import("../source/smi/live.ts"),
  ]);
  const searchPath = searchPathOf(user);
  const place = findSmi(searchPath === undefined ? {} : { searchPath });
  if (place === undefined) {
    throw new GpuctlError("unavailable", "Cannot ask nvidia-smi: it is not installed here");
  }
  const records = stuckRecordsOf(user.uid, user.runtimeDirectory);
  return new SmiSource({ place, clock: realClock, processes, records });
}

/** Where this user's own programs lie. Root's search path is somebody else's if it came in from outside. */
function searchPathOf({ uid }: User): string | undefined {
  return uid === 0 ? undefined : variable("PATH") ?? "";
}

function makeTemporaryFolder(): ReturnType<World["temporaryFolder"]> {
  const path = attemptFolder(tmpdir());
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function attemptFolder(parent: string): string {
  try {
    return mkdtempSync(join(parent, "gpuctl-"));
  } catch (error) {
    throw new GpuctlError(failureOf(error), `Cannot make a folder in ${parent}: ${stateOfPlace(error)}`, {
      cause: error,
      hint: "TMPDIR names another place",
    });
  }
}

function readUser(): User {
  const home = variable("HOME");
  return {
    uid: process.getuid?.() ?? 0,
    runtimeDirectory: variable("XDG_RUNTIME_DIR"),
    stateDirectory: variable("XDG_STATE_HOME") ?? (home === undefined ? undefined : `${home}/.local/state`),
  };
}

function variable(name: string): string | undefined {
  return process.env[name];
}
