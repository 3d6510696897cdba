/** Who holds a GPU, counted. No process is a label: the number of series hangs on the machine, not on its jobs. */
import { known } from "../core/reading.ts";
import type { Owner } from "../model/process.ts";
import { type Holder, HOLDER_CLASSES } from "../model/snapshot.ts";
import {
  type GpuMetric,
  type GpuValue,
  type GpuView,
  type HolderThere,
  one,
  sum,
} from "./prometheus_view.ts";

/** What a holder belongs to, the most telling first. */
export const OWNER_KINDS = [
  "slurm",
  "kubernetes",
  "container",
  "session",
  "unit",
  "other",
  "unknown",
] as const;
type OwnerKind = typeof OWNER_KINDS[number];

/** Holders by class and by owner, then the dead. */
export const HOLDER_METRICS: readonly GpuMetric[] = [
  {
    name: "gpuctl_gpu_holders",
    help: "Live processes that hold the GPU, by what they are.",
    labels: ["class"],
    read: (view) => counts(view, HOLDER_CLASSES, classOf),
  },
  {
    name: "gpuctl_gpu_holder_context_bytes",
    help: "Memory of the holders' own contexts, by what the holders are.",
    labels: ["class"],
    read: (view) => sums(view, HOLDER_CLASSES, classOf),
  },
  {
    name: "gpuctl_gpu_owner_holders",
    help: "Live processes that hold the GPU, by what they belong to.",
    labels: ["owner"],
    read: (view) => counts(view, OWNER_KINDS, ownerKindOf),
  },
  {
    name: "gpuctl_gpu_owner_context_bytes",
    help: "Memory of the holders' own contexts, by what the holders belong to.",
    labels: ["owner"],
    read: (view) => sums(view, OWNER_KINDS, ownerKindOf),
  },
  {
    name: "gpuctl_gpu_ghost_contexts",
    help: "Contexts of dead processes: memory that some live process, or nobody to be seen, keeps.",
    labels: [],
    read: ({ ghosts, isEverybodySeen }) =>
      ghosts.length > 0 || isEverybodySeen ? [one(known(ghosts.length))] : [],
  },
  {
    name: "gpuctl_gpu_ghost_context_bytes",
    help: "Memory of the contexts of dead processes.",
    labels: [],
    read: ({ ghosts, isEverybodySeen }) =>
      ghosts.length > 0 || isEverybodySeen ? [one(sum(ghosts.map(({ contextBytes }) => contextBytes)))] : [],
  },
];

function classOf(holder: HolderThere): Holder["class"] {
  return holder.class;
}

function ownerKindOf({ owner }: HolderThere): OwnerKind {
  return owner.ok ? kindOf(owner.value) : "unknown";
}

function kindOf({ slurmJob, pod, container, loginSession, unit }: Owner): OwnerKind {
  if (slurmJob !== undefined) return "slurm";
  if (pod !== undefined) return "kubernetes";
  if (container !== undefined) return "container";
  if (loginSession !== undefined) return "session";
  return unit === undefined ? "other" : "unit";
}

/** The holders of each kind. A kind that nobody is of is there only where everybody was seen. */
function group<Kind extends string>(
  { holders, isEverybodySeen }: GpuView,
  kinds: readonly Kind[],
  kindOf: (holder: HolderThere) => Kind,
): readonly (readonly [Kind, readonly HolderThere[]])[] {
  const groups = new Map<Kind, HolderThere[]>(kinds.map((kind) => [kind, []]));
  for (const holder of holders) groups.get(kindOf(holder))?.push(holder);
  return [...groups].filter(([, members]) => members.length > 0 || isEverybodySeen);
}

type Grouping<Kind extends string> = Parameters<typeof group<Kind>>;

function counts<Kind extends string>(...grouping: Grouping<Kind>): GpuValue[] {
  return group(...grouping).map(([kind, members]) => one(known(members.length), kind));
}

function sums<Kind extends string>(...grouping: Grouping<Kind>): GpuValue[] {
  return group(...grouping).map(([kind, members]) =>
    one(sum(members.map(({ contextBytes }) => contextBytes)), kind)
  );
}
