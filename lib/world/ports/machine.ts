/** The machine as a whole: simulated servers, systemd, what a reset takes, what a doctor looks at. */
import type { Ending } from "../../core/errors.ts";
import type { Pid } from "../../core/ids.ts";
import type { Reading } from "../../core/reading.ts";
import type { Milliseconds } from "../../core/units.ts";
import type { ClockOrder } from "../../model/clock_order.ts";
import type { ActRecord, ContainerTools, DriverFiles, MpsPipe, Standing } from "../../model/doctor_facts.ts";
import type { PythonInterpreter } from "../../model/python_packages.ts";
import type { ResetFacts } from "../../model/reset_facts.ts";
import type { JobPlan, ServerPlan } from "../../model/simulation.ts";
import type { ToolRun } from "../../model/tool_run.ts";
import type { FoundUnit, UnitFile } from "../../model/unit_file.ts";

/** Simulated GPU servers, and the jobs on them. */
export interface Simulation {
  /**
   * Makes a server in a directory, or gives the one that is there other faults. Gives the number of its GPUs.
   *
   * @throws {GpuctlError} if the plan cannot be read, or is for other GPUs than there are
   */
  init(directory: string, plan: ServerPlan): Promise<number>;
  /**
   * Runs a job: says `ready PID` on standard output once its scene stands, and returns when its time is over.
   *
   * @throws {GpuctlError} if there is no such server or GPU, or too little memory is free
   */
  hold(plan: JobPlan): Promise<Ending>;
  /** Does what the job that started this process has ordered on standard input. */
  work(): Promise<void>;
}

/** systemd, and the place where an administrator's own units lie. */
export interface Systemd {
  /** The path of a unit of this name. */
  unitPath(name: string): string;
  /** What stands there; `undefined` where nothing does. @throws {GpuctlError} if it cannot be read */
  findUnit(name: string): FoundUnit | undefined;
  /** Puts the whole unit in place of what stands there, for everybody to read. @throws {GpuctlError} if it cannot */
  writeUnit(unit: UnitFile): void;
  /** @throws {GpuctlError} if it cannot be removed */
  removeUnit(name: string): void;
  /** @throws {GpuctlError} if somebody else than root could put another program in this one's place */
  checkProgram(path: string): void;
  /**
   * Gives systemctl an order and returns what it printed.
   *
   * @throws {GpuctlError} `partial` with its words if it refuses or does not answer in time
   */
  order(words: readonly string[]): Promise<string>;
}

/** What a reset is planned and done with. */
export interface ResetTools {
  /** Reads the kernel and the services. Never rejects: what could not be read is absent. */
  readFacts(): Promise<ResetFacts>;
  /** How nvidia-smi is called, for the plan; absent if it is not installed. */
  readonly smiPath: Reading<string>;
  /** Runs nvidia-smi with these words. It gets no signal that is meant for us, and is not ended before the span is over. */
  runSmi(words: readonly string[], span: Milliseconds): Promise<ToolRun>;
  /** Sets clocks back by NVML; `not-supported` where that has no such call, for this GPU or at all. */
  resetClocks(order: ClockOrder, span: Milliseconds): Promise<Reading<true>>;
  /** Stops or starts a systemd unit and waits until that is done. */
  orderUnit(order: "stop" | "start", unit: string, span: Milliseconds): Promise<ToolRun>;
  /** Whether a unit runs; absent where systemd does not say. */
  readIsActive(unit: string, span: Milliseconds): Promise<Reading<boolean>>;
  /** Settles once no helper of this program has the driver open any more; says which pid is left if one stays. */
  closeHelpers(span: Milliseconds): Promise<readonly Pid[]>;
}

/** What a diagnosis reads beside a look at the driver. None of it rejects: what could not be read is absent. */
export interface Examination {
  readDriver(): Promise<DriverFiles>;
  readStanding(): Promise<Reading<Standing>>;
  readMachine(): Promise<Omit<ResetFacts, "services">>;
  readServices(): Promise<ResetFacts["services"]>;
  readContainers(): Promise<ContainerTools>;
  readMps(): Promise<MpsPipe>;
  readActs(): Promise<Reading<ActRecord>>;
  /** The interpreter that was named, or those that a shell here would start. None of them is run. */
  readPython(named: string | undefined): Promise<readonly PythonInterpreter[]>;
}
