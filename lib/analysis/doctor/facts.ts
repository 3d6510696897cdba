/** What the checks are judged from. Each part is read once for all of them, and only if a check needs it. */
import type { Pid } from "../../core/ids.ts";
import { type Absent, absent, formatAbsent, type Reading, valueOf } from "../../core/reading.ts";
import type { CheckId, CheckVerdict } from "../../model/doctor.ts";
import type { ActRecord, ContainerTools, DriverFiles, MpsPipe, Standing } from "../../model/doctor_facts.ts";
import type { DriverReport } from "../../model/gpu.ts";
import type { Observation } from "../../model/observation.ts";
import type { Environment } from "../../model/process.ts";
import type { PythonInterpreter } from "../../model/python_packages.ts";
import type { ResetFacts } from "../../model/reset_facts.ts";
import { isDriverAnswering, type Snapshot } from "../../model/snapshot.ts";
import { skipped, unknown, unseen } from "./verdict.ts";

/** A process whose variables are judged. */
export interface ExaminedProcess {
  readonly pid: Pid;
  readonly environment: Reading<Environment>;
  /** Whether it runs in a container, where GPUs are counted anew. */
  readonly isContained: Reading<boolean>;
}

/** Each part, or why it could not be had. */
export interface DoctorFacts {
  readonly driver: Reading<DriverFiles>;
  readonly standing: Reading<Standing>;
  readonly machine: Reading<Omit<ResetFacts, "services">>;
  readonly services: ResetFacts["services"];
  /** One look at the driver and the processes, with the health of each GPU. */
  readonly look: Reading<Look>;
  readonly containers: Reading<ContainerTools>;
  readonly mps: Reading<MpsPipe>;
  /** What gpuctl has done itself; where it has no record of that, its acts pass for the driver's own faults. */
  readonly acts: Reading<ActRecord>;
  /** The variables of this program's own environment that bear on GPUs. */
  readonly shell: Reading<Environment>;
  readonly processes: Reading<readonly ExaminedProcess[]>;
  readonly python: Reading<readonly PythonInterpreter[]>;
}
export type FactName = keyof DoctorFacts;

/** A look with what follows from it. */
export interface Look {
  readonly observation: Observation;
  readonly snapshot: Snapshot;
}

/** A check before it is made. */
export interface CheckPlan {
  readonly id: CheckId;
  /** What is so when all is well. */
  readonly title: string;
  /** Why it matters. */
  readonly explanation: string;
  /** What has to be read for it. */
  readonly reads: readonly FactName[];
  /** Says `ok` only where everything that it rests on was read. */
  judge(facts: DoctorFacts): CheckVerdict;
}

/** A look to which the driver itself answered. */
export interface Answer extends Look {
  readonly report: DriverReport;
}

/** The look, if the driver answered. */
export function findAnswer({ look }: Pick<DoctorFacts, "look">): Answer | undefined {
  if (!look.ok || !look.value.observation.report.ok || !isDriverAnswering(look.value.snapshot)) {
    return undefined;
  }
  return { ...look.value, report: look.value.observation.report.value };
}

/** Judges what the driver says; without an answer the check is `skipped` where no driver is loaded, else `unknown`. */
export function withAnswer(
  facts: Pick<DoctorFacts, "look" | "driver">,
  judge: (answer: Answer) => CheckVerdict,
): CheckVerdict {
  const answer = findAnswer(facts);
  if (answer !== undefined) return judge(answer);
  return withDriver(
    facts,
    () =>
      unknown([
        `there is no answer of the driver to go by (${wordsOf(reasonOf(facts))}): see driver.answers`,
      ]),
  );
}

/** Judges the files of a loaded driver; the check is `skipped` where none is loaded. */
export function withDriver(
  { driver }: Pick<DoctorFacts, "driver">,
  judge: (files: DriverFiles) => CheckVerdict,
): CheckVerdict {
  const what = "whether a driver is loaded";
  if (!driver.ok) return unseen(what, driver);
  const { isLoaded } = driver.value;
  if (!isLoaded.ok) return unseen(what, isLoaded);
  return isLoaded.value
    ? judge(driver.value)
    : skipped("no NVIDIA driver is loaded: see driver.module-loaded");
}

/** Why the driver did not answer. */
export function reasonOf({ look }: Pick<DoctorFacts, "look">): Absent {
  if (!look.ok) return look;
  const { report, problems } = look.value.observation;
  if (!report.ok) return report;
  return problems.find(({ subject }) => subject === "driver")?.reason ?? absent("not-reported");
}

/** A reason in its own words, where it has some. */
export function wordsOf(reason: Absent): string {
  return reason.detail ?? formatAbsent(reason);
}

/** Whether this program is known to run in a container: for the choice of a fix, never for a verdict. */
export function isInContainer({ machine }: Pick<DoctorFacts, "machine">): boolean {
  return machine.ok && valueOf(machine.value.isContainer) === true;
}
