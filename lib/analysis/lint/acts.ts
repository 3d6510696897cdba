/** What follows from a change of the environment at this point of the program. */
import type { Carrying } from "./engine.ts";
import { actsOfCommand, type EnvironmentAct, isCudaVariable } from "./environment.ts";
import { judgeSetting } from "./judge_setting.ts";
import type { Magic } from "./notebook.ts";
import { isSame, type Value } from "./program.ts";
import { remarkOnName, REMARKS } from "./remarks.ts";
import { type State, withSetting } from "./state.ts";
import type { Node } from "./syntax.ts";

/** Judges one act on the environment, and notes the value that a variable has afterwards. */
export function performAct(act: EnvironmentAct, node: Node, { engine: { run }, frame }: Carrying): void {
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

/** Carries out one of IPython's own lines. */
export function performMagic(magic: Magic, node: Node, carrying: Carrying): void {
  const { engine: { run }, frame } = carrying;
  switch (magic.kind) {
    case "env": {
      const value: Value = { kind: "text", text: magic.value };
      return performAct({ kind: "set", variable: magic.variable, value, isDefault: false }, node, carrying);
    }
    case "shell":
      return actsOfCommand(magic.command).forEach((act) => performAct(act, node, carrying));
    case "run":
      return run.find({ ...REMARKS.code, place: frame.settings.source.placeAt(node.from) });
  }
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
