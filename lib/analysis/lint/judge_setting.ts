/** Judges whether a change of a variable that CUDA reads comes in time, by what has happened before it. */
import { printable, quoteArguments, truncate } from "../../core/text.ts";
import type { CudaVariable, EnvironmentAct } from "./environment.ts";
import { type Finding, formatPlace, type Place, type Related } from "./finding.ts";
import { judgeValue } from "./judge_value.ts";
import { isSame } from "./program.ts";
import type { Happened, State, Step } from "./state.ts";

/** Where and when the change happens. */
export interface Circumstances {
  readonly at: Step;
  readonly state: State;
  /** Whether it is made on some paths only. */
  readonly isConditional: boolean;
  /** The function it stands in, if nothing shows when that is called. */
  readonly uncalled: string | undefined;
  /** The statement by which this file imports `os`. */
  readonly osImport: string | undefined;
  /** What a person runs. */
  readonly program: { readonly path: string; readonly isNotebook: boolean };
}

type Change = Extract<EnvironmentAct, { kind: "set" | "remove" }> & { readonly variable: CudaVariable };
type Draft =
  & Omit<Finding, "place" | "related" | "correctedOrder">
  & Partial<Pick<Finding, "related" | "correctedOrder">>;

/** All that is to be said of one change. */
export function judgeSetting(change: Change, around: Circumstances): readonly Finding[] {
  const drafts = [
    ...judgeTiming(change, around),
    ...(change.kind === "set" ? judgeValue(change.variable, change.value) : [])
      .map((flaw) => ({ ...flaw, isDecided: true })),
    ...(change.kind === "set" && change.isDefault ? [defaultNote(change)] : []),
  ];
  return drafts.map((draft) => ({ related: [], correctedOrder: [], ...draft, place: around.at.place }));
}

function judgeTiming(change: Change, around: Circumstances): readonly Draft[] {
  const { state, isConditional, uncalled } = around;
  if (isRepeated(change, state)) return [];
  const { cudaStart } = state;
  const framework = [...state.frameworks.values()][0];
  if (cudaStart?.isCertain === true) return [afterCuda(change, cudaStart, around)];
  if (uncalled !== undefined) return [inFunction(change, uncalled, framework, around)];
  if (cudaStart !== undefined) return [maybeAfterCuda(change, cudaStart, around)];
  if (framework !== undefined) return [afterImport(change, framework, around)];
  return [
    ...(isConditional ? [conditional(change)] : []),
    ...(state.unread.size > 0 ? [afterUnread(change, state, around)] : []),
  ];
}

/** Giving the variable the value that it has already does no harm at any time. */
function isRepeated(change: Change, state: State): boolean {
  const before = state.settings.get(change.variable);
  if (change.kind !== "set" || before?.isCertain !== true || before.value === undefined) return false;
  return change.isDefault || before.value.kind === "text" && isSame(before.value, change.value);
}

function afterCuda(change: Change, start: Happened, around: Circumstances): Draft {
  return {
    rule: "set-after-cuda",
    severity: "error",
    isDecided: true,
    message:
      `${changed(change)} after ${start.what} (${
        formatPlace(start.at.place)
      }) has started CUDA; CUDA reads ` +
      "it once, as it starts, so this has no effect",
    fix: fixOrder(change, start, around),
    ...evidence(change, start, around),
  };
}

function maybeAfterCuda(change: Change, start: Happened, around: Circumstances): Draft {
  return {
    rule: "set-after-cuda",
    severity: "warning",
    isDecided: around.state.frameworks.size > 0,
    message:
      `${changed(change)} after ${start.what} (${
        formatPlace(start.at.place)
      }), which may have started CUDA; ` +
      "CUDA reads it once, as it starts, and then this has no effect",
    fix: fixOrder(change, start, around),
    ...evidence(change, start, around),
  };
}

function afterImport(change: Change, framework: Happened, around: Circumstances): Draft {
  return {
    rule: "set-after-import",
    severity: "warning",
    isDecided: true,
    message:
      `${changed(change)} after ${framework.what} (${
        formatPlace(framework.at.place)
      }); it works today only ` +
      "because nothing has started CUDA yet, and any import or call in between that does makes it void",
    fix: fixOrder(change, framework, around),
    ...evidence(change, framework, around),
  };
}

function inFunction(
  change: Change,
  name: string,
  framework: Happened | undefined,
  around: Circumstances,
): Draft {
  const when = `${changed(change)} in ${name}(), and the source does not show when that is called`;
  return {
    rule: "set-in-function",
    severity: framework ? "warning" : "note",
    isDecided: false,
    message: framework
      ? `${when}: ${framework.what} (${
        formatPlace(framework.at.place)
      }) comes before it, and once CUDA has started it is too late`
      : `${when}: it counts only if that is before CUDA starts`,
    fix: fixOrder(change, framework, around),
    ...(framework ? evidence(change, framework, around) : {}),
  };
}

function conditional(change: Change): Draft {
  return {
    rule: "set-conditionally",
    severity: "note",
    isDecided: false,
    message: `${
      changed(change)
    } under a condition; otherwise the value from outside stands, or every GPU is visible`,
    fix: "Set it on every path, or leave it to whoever starts the program",
  };
}

function afterUnread(change: Change, { unread }: State, around: Circumstances): Draft {
  const names = [...unread.keys()];
  const shown = names.slice(0, 5).map((name) => printable(truncate(name, 40))).join(", ");
  const more = names.length > 5 ? ` and ${names.length - 5} more` : "";
  const [first] = [...unread.values()];
  return {
    rule: "unread-modules",
    severity: "note",
    isDecided: false,
    message: `${changed(change)} after the import of ${shown}${more}, ${
      names.length === 1 ? "which was not read; if it" : "which were not read; if one of them"
    } starts CUDA, this has no effect`,
    fix: fixOrder(change, first, around),
    ...(first ? evidence(change, first, around) : {}),
  };
}

function defaultNote(change: Change): Draft {
  return {
    rule: "set-if-missing",
    severity: "note",
    isDecided: true,
    message: `setdefault gives ${change.variable} a value only if it has none: one from outside wins`,
    fix: `If the program must decide, assign it: os.environ["${change.variable}"] = ...`,
  };
}

function changed(change: Change): string {
  return `${change.variable} is ${change.kind === "set" ? "set" : "removed"}`;
}

function fixOrder(change: Change, before: Happened | undefined, around: Circumstances): string {
  const verb = change.kind === "set" ? "Set" : "Remove";
  const target = before ? nearestStep(before, around.at.place) : undefined;
  const where = target && target.place.path === around.at.place.path
    ? `before ${target.place.cell === undefined ? "" : `cell ${target.place.cell} `}line ${target.place.line}`
    : "as the first thing that the program does";
  if (around.program.isNotebook) return `${verb} it ${where}, and restart the kernel`;
  return `${verb} it ${where}, or start the program so: ${launch(change, around)}`;
}

function launch(change: Change, { program }: Circumstances): string {
  const run = `python ${quoteArguments([program.path])}`;
  if (change.kind === "remove") return `env -u ${change.variable} ${run}`;
  const { value, variable } = change;
  const isKnown = (value.kind === "text" || value.kind === "constant") &&
    judgeValue(variable, value).length === 0;
  const shown = isKnown ? (value.text === "" ? "''" : quoteArguments([value.text])) : "...";
  return `${variable}=${shown} ${run}`;
}

/** The other places, and the statements in the order in which they should stand. */
function evidence(
  change: Change,
  before: Happened,
  { at, osImport, state }: Circumstances,
): Pick<Finding, "related" | "correctedOrder"> {
  const steps = [...before.importedAt, before.at];
  const related: Related[] = steps.map(({ place, statement }) => ({ place, text: statement }));
  const framework = [...state.frameworks.values()][0];
  const later = [framework, before].flatMap((happened) => happened ? nearestStep(happened, at.place) : [])
    .map(({ statement }) => statement);
  const ownImport = osImport === undefined || later.includes(osImport) ? "import os" : osImport;
  const first = change.kind === "set" && osImport !== undefined ? [ownImport] : [];
  return { related, correctedOrder: [...new Set([...first, at.statement, ...later])] };
}

/** The step that stands in the same file: what has to move, or what the change has to move above. */
function nearestStep({ importedAt, at }: Happened, place: Place): Step {
  return [...importedAt, at].find((step) => step.place.path === place.path) ?? importedAt[0] ?? at;
}
