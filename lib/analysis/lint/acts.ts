/** What follows from a change of the environment at this point of the program. */
import { nearest, printable, truncate } from "../../core/text.ts";
import { type EnvironmentAct, isCudaVariable, READ_BY_CUDA } from "./environment.ts";
import type { Finding } from "./finding.ts";
import type { Frame } from "./frame.ts";
import { judgeSetting } from "./judge_setting.ts";
import { isSame, type Value } from "./program.ts";
import type { Run } from "./run.ts";
import { type State, withSetting } from "./state.ts";
import type { Node } from "./syntax.ts";

type Remark = Pick<Finding, "rule" | "severity" | "isDecided" | "message" | "fix">;

/** Judges one act on the environment, and notes the value that a variable has afterwards. */
export function performAct(act: EnvironmentAct, node: Node, { run, frame }: { run: Run; frame: Frame }): void {
  const { module, source, isConditional, uncalled } = frame.settings;
  const place = source.placeAt(node.from);
  if (act.kind !== "set" && act.kind !== "remove") return run.find({ ...REMARKS[act.kind], place });
  const { variable } = act;
  if (!isCudaVariable(variable)) {
    const remark = act.kind === "set" ? remarkOnName(variable) : undefined;
    if (remark) run.find({ ...remark, place });
    return;
  }
  const { path, isNotebook } = run.program;
  const findings = judgeSetting({ ...act, variable }, {
    at: { ...run.stepAt(node, source), place },
    state: run.state,
    isConditional,
    uncalled,
    osImport: run.osImports.get(module),
    program: { path, isNotebook },
  });
  findings.forEach((finding) => run.add(finding));
  run.state = stateAfter(run.state, act);
}

function stateAfter(state: State, act: Extract<EnvironmentAct, { kind: "set" | "remove" }>): State {
  const before = state.settings.get(act.variable);
  const value = act.kind === "set" ? act.value : undefined;
  if (act.kind === "set" && act.isDefault) {
    return before ? state : withSetting(state, act.variable, { value: undefined, isCertain: true });
  }
  return before?.isCertain === true && isUnchanged(before.value, value)
    ? state
    : withSetting(state, act.variable, { value, isCertain: true });
}

function isUnchanged(before: Value | undefined, after: Value | undefined): boolean {
  return before !== undefined && after !== undefined && isSame(before, after);
}

/** A variable that CUDA does not read, and that somebody may have taken for one that it reads. */
function remarkOnName(variable: string): Remark | undefined {
  if (variable === "NVIDIA_VISIBLE_DEVICES") {
    return {
      rule: "wrong-variable",
      severity: "warning",
      isDecided: true,
      message: "NVIDIA_VISIBLE_DEVICES is read by the container runtime before the program starts; setting it here has no effect",
      fix: "Set CUDA_VISIBLE_DEVICES, or give the variable to the container",
    };
  }
  if (!variable.toUpperCase().startsWith("CUDA")) return undefined;
  const meant = nearest(variable.toUpperCase(), READ_BY_CUDA);
  if (meant === undefined) return undefined;
  return {
    rule: "wrong-variable",
    severity: "warning",
    isDecided: true,
    message: `CUDA does not read "${printable(truncate(variable, 40))}"; its variable is ${meant}`,
    fix: `Write ${meant}`,
  };
}

const REMARKS: Readonly<Record<Exclude<EnvironmentAct["kind"], "set" | "remove">, Remark>> = {
  unclear: {
    rule: "dynamic-environment",
    severity: "note",
    isDecided: false,
    message: "A variable is set whose name the source does not show; whether it is one that CUDA reads cannot be told",
    fix: "Set CUDA_VISIBLE_DEVICES by name, or before the program starts",
  },
  replace: {
    rule: "environment-replaced",
    severity: "warning",
    isDecided: true,
    message: "os.environ is replaced by another object: from here on, what is set in it never reaches CUDA",
    fix: "Change it in place: os.environ.update(...)",
  },
  subshell: {
    rule: "set-in-subshell",
    severity: "warning",
    isDecided: true,
    message: "The variable is set in a shell that ends with this command; the program itself does not get it",
    fix: "Assign it in Python: os.environ[...] = ..., before the first import of a framework",
  },
};
