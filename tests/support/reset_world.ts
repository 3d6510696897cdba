/** A made-up machine that is reset: its driver, nvidia-smi and systemctl, and a clock of its own. */
import type { ResetWorld } from "../../lib/action/reset.ts";
import { GpuctlError } from "../../lib/core/errors.ts";
import { gpuIndex, type Pid } from "../../lib/core/ids.ts";
import { absent, known, mapReading, type Reading } from "../../lib/core/reading.ts";
import type { Milliseconds } from "../../lib/core/units.ts";
import type { Gpu } from "../../lib/model/gpu.ts";
import type { Observation } from "../../lib/model/observation.ts";
import type { ResetFacts } from "../../lib/model/reset_facts.ts";
import type { AuditJson } from "../../lib/model/schema/audit.ts";
import type { ToolRun } from "../../lib/model/tool_run.ts";
import type { ResetTools } from "../../lib/world/ports.ts";
import { jobWorld, type JobWorldSpec, type SentSignal } from "./job_world.ts";
import { HEALTHY, PLAIN_FACTS } from "./reset_scene.ts";

type Words = readonly string[];

export interface FakeToolsSpec {
  readonly facts?: Partial<ResetFacts>;
  readonly smiPath?: Reading<string>;
  readonly runSmi?: (words: Words, span: Milliseconds) => ToolRun | Promise<ToolRun>;
  readonly orderUnit?: (order: "stop" | "start", unit: string) => ToolRun | Promise<ToolRun>;
  /** What NVML makes of clocks that are to be set back; it has no such call unless given. */
  readonly clocks?: Reading<true>;
  /** What systemd says of a unit that was started: it runs, unless given. */
  readonly isActive?: Reading<boolean>;
  /** Helpers that do not end. */
  readonly left?: () => readonly Pid[];
}

export interface FakeTools extends ResetTools {
  /** What was run, with the span that it had. */
  readonly calls: readonly (readonly (string | number)[])[];
}

/** Tools of which every run goes well. */
export function fakeResetTools(spec: FakeToolsSpec = {}): FakeTools {
  const calls: (string | number)[][] = [];
  return {
    calls,
    smiPath: spec.smiPath ?? known("/usr/bin/nvidia-smi"),
    readFacts: () => Promise.resolve({ ...PLAIN_FACTS, ...spec.facts }),
    runSmi(words, span) {
      calls.push(["nvidia-smi", ...words, span]);
      return Promise.resolve(spec.runSmi?.(words, span) ?? goodRun(words));
    },
    resetClocks({ gpu, clocks }) {
      calls.push(["nvml", gpu, clocks]);
      return Promise.resolve(spec.clocks ?? absent("not-supported"));
    },
    orderUnit(order, unit, span) {
      calls.push(["systemctl", order, unit, span]);
      return Promise.resolve(spec.orderUnit?.(order, unit) ?? goodRun([]));
    },
    readIsActive: () => Promise.resolve(spec.isActive ?? known(true)),
    closeHelpers: () => Promise.resolve(spec.left?.() ?? []),
  };
}

/** What nvidia-smi says when all goes well. */
export function goodRun(words: Words): ToolRun {
  const [, buses = "", order] = words;
  const lines = order === "-r" ? buses.split(",").map((bus) => `GPU ${bus} was successfully reset.\n`) : [];
  return { kind: "ended", status: 0, signal: undefined, text: `${lines.join("")}All done.\n` };
}

export interface ResetWorldSpec
  extends Pick<JobWorldSpec, "machine" | "caught">, Omit<FakeToolsSpec, "runSmi"> {
  /** Changes what the driver says of each GPU; `resets` counts the resets so far. */
  readonly gpu?: (gpu: Gpu, resets: number) => Partial<Gpu>;
  /** Persistence mode of each GPU before it is changed; off unless given. */
  readonly isPersistent?: boolean;
  /** The driver does not do what nvidia-smi says of persistence mode; a reset takes it away all the same. */
  readonly ignoresPersistence?: boolean;
  /** GPUs that cannot be opened. */
  readonly unreadable?: readonly number[];
  readonly observation?: (observation: Observation) => Partial<Observation>;
  readonly runSmi?: (words: Words, clock: ResetWorld["clock"]) => ToolRun | Promise<ToolRun> | undefined;
  /** What the record refuses, by the number of records before. */
  readonly unrecorded?: (written: number) => boolean;
  readonly isLocked?: boolean;
}

export interface FakeResetWorld extends ResetWorld {
  readonly tools: FakeTools;
  readonly signals: readonly SentSignal[];
  readonly records: readonly AuditJson[];
  /** How often the machine was looked at. */
  readonly looks: number;
}

/** Builds the world. A reset takes persistence mode, a recovery action and used memory away, as a real one does. */
export function resetWorld(spec: ResetWorldSpec): FakeResetWorld {
  const base = jobWorld({ machine: spec.machine, ...spec.caught && { caught: spec.caught } });
  const records: AuditJson[] = [];
  const persistence = new Map<string, boolean>();
  let resets = 0;
  let looks = 0;
  const { runSmi, ...rest } = spec;
  const tools = fakeResetTools({
    ...rest,
    async runSmi(words) {
      const run = await (runSmi?.(words, base.clock) ?? goodRun(words));
      const isDone = run.kind === "ended" && run.status === 0;
      if (isDone && words[2] === "-r") {
        resets++;
        for (const address of (words[1] ?? "").split(",")) persistence.set(address, false);
      }
      if (isDone && words[2] === "-pm" && !spec.ignoresPersistence) {
        persistence.set(words[1] ?? "", words[3] === "1");
      }
      return run;
    },
  });
  const changed = (gpu: Gpu): Gpu => {
    const address = gpu.busId.ok ? gpu.busId.value.toUpperCase() : "";
    const mode = known(persistence.get(address) ?? spec.isPersistent ?? false);
    return { ...gpu, health: HEALTHY, persistenceMode: mode, ...spec.gpu?.(gpu, resets) };
  };
  return {
    clock: base.clock,
    processes: base.processes,
    signals: base.signals,
    catchSignals: base.catchSignals,
    openPopulation: base.openPopulation,
    openUses: base.openUses,
    async openSampler(source) {
      const sampler = await base.openSampler(source);
      return {
        sample: async (options) =>
          mapReading(
            await sampler.sample(options),
            (report) => ({ ...report, gpus: report.gpus.map(changed) }),
          ),
        [Symbol.asyncDispose]: () => sampler[Symbol.asyncDispose](),
      };
    },
    records,
    tools,
    get looks() {
      return looks;
    },
    locks: { acquire: () => spec.isLocked ? undefined : { [Symbol.dispose]: () => {} } },
    audit: {
      path: "/var/log/gpuctl/audit.jsonl",
      read: () => absent("not-reported"),
      append(record) {
        if (spec.unrecorded?.(records.length)) {
          throw new GpuctlError("refused", "Cannot record in /var/log: disk full");
        }
        records.push(record);
      },
    },
    async observe(source, options) {
      looks++;
      const seen = await base.observe(source, options);
      const report = seen.report.ok
        ? known({
          ...seen.report.value,
          unreadableGpus: (spec.unreadable ?? []).map((index) => ({
            index: gpuIndex(index),
            reason: absent("lost", "GPU is lost"),
          })),
          gpus: seen.report.value.gpus.map(changed),
        })
        : seen.report;
      const observation = { ...seen, report };
      return { ...observation, ...spec.observation?.(observation) };
    },
  };
}
