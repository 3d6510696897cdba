/** Whom `--evict` ends before a reset: by the rules of a cleaning, and nobody who does not have a chosen GPU. */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { bytes, milliseconds } from "../core/units.ts";
import {
  DEFAULT_CLASSES,
  type EndingPlan,
  type EndingPolicy,
  planEnding,
  type TimedJudgement,
} from "./ending.ts";
import { WIDENING_CLASSES } from "./ending_policy.ts";
import { judgeHolders } from "./judge.ts";
import type { ResetFlags, ResetInput } from "./reset_input.ts";

/** What `clean-zombies` spares unless told otherwise: a younger process may still be finding its place. */
const MIN_AGE = milliseconds(30_000);

export interface EvictionScope extends Pick<ResetFlags, "named" | "protect"> {
  readonly gpus: ReadonlySet<GpuUuid>;
}

/**
 * Plans whom to end, from two judgements a pause apart: the classes of a cleaning, and of those that a person names also
 * the ones that run without their starter or are suspended, if they are idle. Whom a person names of those that were left
 * behind may be young or busy.
 */
export function planEviction(
  first: TimedJudgement,
  second: TimedJudgement,
  scope: EvictionScope,
): EndingPlan {
  const left = planEnding(first, second, policyOf(scope));
  const named = planEnding(first, second, { ...policyOf(scope), pids: scope.named });
  // These two may be somebody's work: that a person names one is no leave to end it while it is busy.
  const widened = planEnding(first, second, {
    ...policyOf(scope),
    classes: new Set(WIDENING_CLASSES),
    minAge: milliseconds(0),
  });
  const asked = widened.acts.filter(({ identity }) => scope.named.has(identity.pid));
  const onChosen = new Set(
    second.judgement.holders.filter(({ facts }) => facts.devices.some(({ gpu }) => scope.gpus.has(gpu)))
      .map(({ facts }) => facts.process.pid),
  );
  const acts = new Map([...left.acts, ...named.acts, ...asked].map((act) => [act.identity.pid, act]));
  return {
    acts: [...acts.values()].filter(({ identity }) => onChosen.has(identity.pid))
      .sort((a, b) => a.depth - b.depth || a.identity.pid - b.identity.pid),
    kept: [
      ...[
        ...widened.kept.filter((each) => isWidening(each)),
        ...named.kept.filter((each) => !isWidening(each)),
      ]
        .filter(({ pid }) => scope.named.has(pid)),
      ...left.kept.filter(({ pid }) => !scope.named.has(pid)),
    ].filter(({ pid }) => onChosen.has(pid) && !acts.has(pid)),
  };
}

/** Whether the plan for those two classes is the one that says why a holder is left alone. */
function isWidening({ class: name }: EndingPlan["kept"][number]): boolean {
  return WIDENING_CLASSES.some((each) => each === name);
}

/** Who could be ended as far as one look tells. A second one decides. */
export function findEvictable(input: ResetInput): ReadonlySet<Pid> {
  const { report, scan, ticks } = input.observation;
  if (!report.ok || !scan.ok) return new Set();
  const look = { judgement: judgeHolders(report.value, scan.value), scan: scan.value, ticks };
  const gpus = new Set(input.gpus.map(({ uuid }) => uuid));
  return new Set(planEviction(look, look, { ...input.flags, gpus }).acts.map(({ identity }) => identity.pid));
}

function policyOf({ protect }: EvictionScope): EndingPolicy {
  return { classes: new Set(DEFAULT_CLASSES), minAge: MIN_AGE, minBytes: bytes(0), protect };
}
