/** What bears on resetting the GPUs of a simulated server, as its TOML file says it. */
import * as v from "valibot";
import { isPid, pid } from "../../core/ids.ts";
import { absent, known } from "../../core/reading.ts";
import { FABRIC_STATES, VIRTUALIZATION_MODES, type VirtualizationMode } from "../../model/gpu_health.ts";
import { findServiceKind } from "../../model/gpu_units.ts";
import { type GpuService, type KernelModule, type Platform, PLATFORMS } from "../../model/reset_facts.ts";
import { madeBy } from "./fields.ts";

/** Of one GPU. */
export interface GpuResetFaults {
  readonly hasPersistence: boolean;
  readonly hasDisplay: boolean;
  /** The machine's own console is on it. */
  readonly hasConsole: boolean;
  /** ECC is to be switched at the next reset. */
  readonly isEccPending: boolean;
  readonly uncorrectedErrors: number;
  readonly isRemapPending: boolean;
  readonly hasRemapFailed: boolean;
  readonly isRetirementPending: boolean;
  /** Indexes of the GPUs that it is linked to. */
  readonly nvlinkPeers: readonly number[];
  readonly hasNvSwitch: boolean;
  readonly virtualization: VirtualizationMode;
  readonly fabric: typeof FABRIC_STATES[number] | "none";
  readonly fabricStatus: number;
  readonly smClockMegahertz: number;
  readonly architecture: string;
}

/** Of the machine as a whole. */
export interface MachineFaults {
  /** `overwritten` has lost its oldest records. */
  readonly kernelLog: "whole" | "overwritten" | "denied";
  /** Messages of the kernel log, from the oldest. */
  readonly xids: readonly string[];
  readonly modules: readonly KernelModule[];
  readonly hasDrmModeset: boolean;
  readonly platform: Platform;
  readonly isContainer: boolean;
  readonly services: readonly GpuService[];
}

const COUNT = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(999_999_999));

export const GPU_RESET_ENTRIES = {
  persistence: v.optional(v.boolean(), true),
  display: v.optional(v.boolean(), false),
  console: v.optional(v.boolean(), false),
  "ecc-pending": v.optional(v.boolean(), false),
  "uncorrected-errors": v.optional(COUNT, 0),
  "remap-pending": v.optional(v.boolean(), false),
  "remap-failed": v.optional(v.boolean(), false),
  "retirement-pending": v.optional(v.boolean(), false),
  "nvlink-peers": v.optional(v.array(COUNT), []),
  nvswitch: v.optional(v.boolean(), false),
  virtualization: v.optional(v.picklist(VIRTUALIZATION_MODES), "none"),
  fabric: v.optional(v.picklist([...FABRIC_STATES, "none"]), "none"),
  "fabric-status": v.optional(COUNT, 0),
  "sm-clock": v.optional(COUNT, 345),
  architecture: v.optional(v.string(), "Hopper"),
};
const GPU_KEYS = v.object(GPU_RESET_ENTRIES);

export const MODULE_KEYS = v.strictObject({
  name: v.string(),
  references: v.optional(COUNT, 0),
  "used-by": v.optional(v.array(v.string()), []),
});

export const SERVICE_KEYS = v.strictObject({
  unit: v.string(),
  active: v.optional(v.boolean(), true),
  "main-pid": v.exactOptional(
    madeBy(v.pipe(v.number(), v.check(isPid, "expected a process id")), pid),
  ),
});

/** The driver's own modules, on a server without a display. */
const DEFAULT_MODULES = [{ name: "nvidia", references: 1, "used-by": ["nvidia_uvm"] }, {
  name: "nvidia_uvm",
}];

export const MACHINE_ENTRIES = {
  "kernel-log": v.optional(v.picklist(["whole", "overwritten", "denied"]), "whole"),
  xids: v.optional(v.array(v.string()), []),
  modules: v.optional(v.array(v.pipe(MODULE_KEYS, v.transform(nameModule))), DEFAULT_MODULES),
  "drm-modeset": v.optional(v.boolean(), false),
  platform: v.optional(v.picklist(PLATFORMS), "bare-metal"),
  container: v.optional(v.boolean(), false),
  services: v.optional(v.array(v.pipe(SERVICE_KEYS, v.transform(nameService))), []),
};
const MACHINE_KEYS = v.object(MACHINE_ENTRIES);

/** Gives the keys of a GPU their names in the program. */
export function nameGpuReset(keys: v.InferOutput<typeof GPU_KEYS>): GpuResetFaults {
  return {
    hasPersistence: keys.persistence,
    hasDisplay: keys.display,
    hasConsole: keys.console,
    isEccPending: keys["ecc-pending"],
    uncorrectedErrors: keys["uncorrected-errors"],
    isRemapPending: keys["remap-pending"],
    hasRemapFailed: keys["remap-failed"],
    isRetirementPending: keys["retirement-pending"],
    nvlinkPeers: keys["nvlink-peers"],
    hasNvSwitch: keys.nvswitch,
    virtualization: keys.virtualization,
    fabric: keys.fabric,
    fabricStatus: keys["fabric-status"],
    smClockMegahertz: keys["sm-clock"],
    architecture: keys.architecture,
  };
}

/** Gives the keys of the machine their names in the program. */
export function nameMachine(keys: v.InferOutput<typeof MACHINE_KEYS>): MachineFaults {
  return {
    kernelLog: keys["kernel-log"],
    xids: keys.xids,
    modules: keys.modules,
    hasDrmModeset: keys["drm-modeset"],
    platform: keys.platform,
    isContainer: keys.container,
    services: keys.services,
  };
}

function nameModule(keys: v.InferOutput<typeof MODULE_KEYS>): KernelModule {
  return { name: keys.name, references: keys.references, usedBy: keys["used-by"] };
}

function nameService(keys: v.InferOutput<typeof SERVICE_KEYS>): GpuService {
  const mainPid = keys["main-pid"];
  return {
    unit: keys.unit,
    kind: findServiceKind(keys.unit) ?? "other",
    isActive: keys.active,
    mainPid: mainPid === undefined ? absent("not-reported", "it has no main process") : known(mainPid),
  };
}
