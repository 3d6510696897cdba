/** Every check in its order, and the choice of some of them by name. */
import { nearest } from "../../core/text.ts";
import type { EXIT } from "../../core/errors.ts";
import { worstEnding } from "../../core/errors.ts";
import type { Check, CheckStatus } from "../../model/doctor.ts";
import { CONTAINER_TOOLKIT } from "./containers.ts";
import { CGROUP_DEVICES, DEVICE_PERMISSIONS } from "./devices.ts";
import { DRIVER_ANSWERS, LIBRARY_LOADABLE } from "./driver_library.ts";
import { MODULE_LOADED, VERSIONS_AGREE } from "./driver_module.ts";
import { VISIBLE_DEVICES } from "./environment.ts";
import type { CheckPlan } from "./facts.ts";
import { FRAMEWORK_CHECKS } from "./frameworks.ts";
import { GHOSTS, HOLDERS_LEFT_BEHIND, UNATTRIBUTED } from "./memory.ts";
import { COMPUTE_MODE, MIG, PERSISTENCE } from "./modes.ts";
import { RESET_NEEDED, XID_HISTORY } from "./reset.ts";
import { FABRIC_MANAGER, MPS } from "./services.ts";
import { PID_NAMESPACE } from "./standing.ts";

/** All of them, in the order in which people go through them by hand. */
export const CHECKS: readonly CheckPlan[] = [
  MODULE_LOADED,
  VERSIONS_AGREE,
  LIBRARY_LOADABLE,
  DRIVER_ANSWERS,
  DEVICE_PERMISSIONS,
  PID_NAMESPACE,
  PERSISTENCE,
  HOLDERS_LEFT_BEHIND,
  GHOSTS,
  UNATTRIBUTED,
  RESET_NEEDED,
  XID_HISTORY,
  COMPUTE_MODE,
  MPS,
  MIG,
  FABRIC_MANAGER,
  CONTAINER_TOOLKIT,
  CGROUP_DEVICES,
  VISIBLE_DEVICES,
  ...FRAMEWORK_CHECKS,
];

/** The checks that were chosen, or the name that chooses none with the nearest that does. */
export type CheckChoice =
  | { readonly kind: "checks"; readonly checks: readonly CheckPlan[] }
  | { readonly kind: "unknown"; readonly name: string; readonly near: string | undefined };

/** Chooses checks by names: whole ids, or what stands before their dot. */
export function chooseChecks(
  { only, skip = [] }: {
    readonly only?: readonly string[] | undefined;
    readonly skip?: readonly string[] | undefined;
  },
): CheckChoice {
  const wrong = [...only ?? [], ...skip].find((name) => !CHECKS.some(({ id }) => isMeant(id, name)));
  if (wrong !== undefined) return { kind: "unknown", name: wrong, near: nearest(wrong, allNames()) };
  return {
    kind: "checks",
    checks: CHECKS.filter(({ id }) =>
      (only ?? [id]).some((name) => isMeant(id, name)) && !skip.some((name) => isMeant(id, name))
    ),
  };
}

function isMeant(id: string, name: string): boolean {
  return id === name || id.startsWith(`${name}.`);
}

function allNames(): readonly string[] {
  return [...new Set(CHECKS.flatMap(({ id }) => [id, id.split(".")[0] ?? id]))];
}

const ENDINGS = {
  finding: "finding",
  unknown: "unavailable",
  ok: "ok",
} as const satisfies Record<Exclude<CheckStatus, "skipped">, keyof typeof EXIT>;

/** What the checks come to. Where none of them applied nothing was found out, and that is not `ok`. */
export function endingOfChecks(checks: readonly Pick<Check, "status">[]): keyof typeof EXIT {
  return worstEnding(checks.flatMap(({ status }) => status === "skipped" ? [] : [ENDINGS[status]]));
}
