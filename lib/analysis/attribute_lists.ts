/**
 * Who holds the GPUs as far as lists alone tell: contexts that the driver names, and processes that fuser or lsof saw with
 * a device node open. Nothing here says whether a pid lives, or whose it was.
 */
import { type DeviceMinor, gpuIndex, type Pid, uid } from "../core/ids.ts";
import { type Absent, absent, known, type Reading } from "../core/reading.ts";
import { plural } from "../core/text.ts";
import { type Context, contextsOf, type DriverReport, type Gpu } from "../model/gpu.ts";
import { standInUuid } from "../model/gpu_identity.ts";
import { identifiedGpu } from "../model/identified_gpu.ts";
import type { ListedHolder, ListedUse } from "../model/listed_holder.ts";
import type { GpuAccount, Holder, HolderDevice, Host, Problem, Snapshot } from "../model/snapshot.ts";
import { accountOf } from "./account.ts";
import { sumContexts } from "./facts.ts";
import { reportProblems } from "./report_problems.ts";

/** What a text says of a machine. */
export interface ListedLook {
  readonly takenAt: Reading<string>;
  readonly host: Host;
  readonly report: Reading<DriverReport>;
  /** Of fuser and lsof; `undefined` where the text has no such listing. */
  readonly listed: readonly ListedHolder[] | undefined;
  /** Why a text has nothing of what only the machine itself knows. */
  readonly why: Absent;
  readonly problems: readonly Problem[];
}

/** Puts the lists of a saved text together. */
export function attributeLists(look: ListedLook): Snapshot {
  const { takenAt, host, report, listed = [], why } = look;
  const named = report.ok ? report.value.gpus : [];
  const isNodesOnly = named.length === 0;
  const gpus = isNodesOnly
    ? minorsIn(listed).map((minor) => gpuOfNode(minor, report.ok ? why : report))
    : named;
  return {
    takenAt,
    source: "file",
    simulated: false,
    host,
    driver: report.ok ? known(report.value.driver) : report,
    gpus: gpus.map(bareAccount),
    unreadableGpus: report.ok ? report.value.unreadableGpus : [],
    holders: holdersOfLists(gpus, { listed, why }),
    ghosts: [],
    problems: [
      ...look.problems,
      ...(look.listed !== undefined && !report.ok && report.why === "not-reported"
        ? []
        : reportProblems(report)),
      ...nodeProblems(gpus, listed, isNodesOnly),
    ],
  };
}

/** The account of a GPU whose processes nobody looked at: memory without a context may be anybody's. */
export function bareAccount(gpu: Gpu): GpuAccount {
  return accountOf(gpu, [], false);
}

/** Every process that a list names, by pid. `why` stands for all that lists do not say. */
export function holdersOfLists(
  gpus: readonly Gpu[],
  { listed, why }: { readonly listed: readonly ListedHolder[]; readonly why: Absent },
): Holder[] {
  const seen = mergeByPid(listed);
  const own = contextsByPid(gpus);
  const pids = new Set([...own.keys(), ...seen.keys()]);
  return [...pids].sort((a, b) => a - b).map((pid): Holder => {
    const found = seen.get(pid);
    const contexts = own.get(pid) ?? NO_CONTEXTS;
    return {
      pid,
      startTicks: why,
      ...readUser(found?.user, why),
      argv: why,
      name: nameIn(contexts) ?? found?.command ?? "",
      state: why,
      threads: why,
      parentPid: why,
      owner: why,
      class: "unknown",
      evidence: evidenceOf(contexts, found),
      advice: "Look on the machine itself: gpuctl snapshot",
      devices: devicesOf(gpus, { contexts, uses: found?.uses ?? [], why }),
    };
  });
}

type OwnContexts = ReadonlyMap<Gpu, readonly Context[]>;
const NO_CONTEXTS: OwnContexts = new Map();

/** The contexts of each process by GPU. A large machine has thousands of both. */
function contextsByPid(gpus: readonly Gpu[]): ReadonlyMap<Pid, OwnContexts> {
  const byPid = new Map<Pid, Map<Gpu, Context[]>>();
  for (const gpu of gpus) {
    for (const context of contextsOf(gpu.processList)) {
      const own = byPid.get(context.pid) ?? new Map<Gpu, Context[]>();
      byPid.set(context.pid, own);
      const here = own.get(gpu);
      if (here) here.push(context);
      else own.set(gpu, [context]);
    }
  }
  return byPid;
}

/** A text may hold the output of both tools, or of one of them twice. */
function mergeByPid(listed: readonly ListedHolder[]): ReadonlyMap<Pid, ListedHolder> {
  const merged = new Map<Pid, ListedHolder>();
  for (const holder of listed) {
    const before = merged.get(holder.pid);
    const uses = new Map(before?.uses.map((use) => [use.path, use]));
    for (const use of holder.uses) {
      const other = uses.get(use.path);
      uses.set(use.path, {
        ...use,
        isOpen: use.isOpen || other?.isOpen === true,
        isMapped: use.isMapped || other?.isMapped === true,
      });
    }
    merged.set(holder.pid, { ...holder, ...before, uses: [...uses.values()] });
  }
  return merged;
}

function devicesOf(
  gpus: readonly Gpu[],
  { contexts, uses, why }: {
    readonly contexts: OwnContexts;
    readonly uses: readonly ListedUse[];
    readonly why: Absent;
  },
): HolderDevice[] {
  const useOf = (gpu: Gpu) => uses.find(({ node }) => node.kind === "gpu" && isNodeOf(gpu, node.minor));
  // Of thousands of processes hardly one is in a list of open files.
  const near = uses.length === 0 ? [...contexts.keys()] : gpus;
  const onGpus = near.flatMap((gpu): HolderDevice[] => {
    const use = useOf(gpu);
    if (use === undefined && !contexts.has(gpu)) return [];
    return [{
      gpu: gpu.uuid,
      contextBytes: sumContexts(contexts.get(gpu) ?? [], gpu.processList),
      isOpen: use === undefined ? why : known(use.isOpen),
      isMapped: use === undefined ? why : known(use.isMapped),
    }];
  });
  const elsewhere = uses.flatMap(({ node, isOpen, isMapped }): HolderDevice[] =>
    node.kind !== "gpu" || gpus.some((gpu) => isNodeOf(gpu, node.minor)) ? [] : [{
      gpu: standInUuid({ minor: node.minor }),
      contextBytes: absent("not-reported", "nothing says which GPU this device node is"),
      isOpen: known(isOpen),
      isMapped: known(isMapped),
    }]
  );
  return [...onGpus, ...elsewhere];
}

/** A node's number need not be its GPU's index: only a minor number that the text itself gives puts them together. */
function isNodeOf({ minor }: Gpu, node: DeviceMinor): boolean {
  return minor.ok && minor.value === node;
}

function nameIn(contexts: OwnContexts): string | undefined {
  return [...contexts.values()].flat().find(({ name }) => name !== undefined)?.name;
}

function readUser(user: string | undefined, why: Absent): Pick<Holder, "uid" | "user"> {
  if (user === undefined) return { uid: why, user: why };
  if (/^\d{1,10}$/.test(user) && Number(user) < 2 ** 32) return { uid: known(uid(Number(user))), user: why };
  const isCut = user.endsWith("+");
  return { uid: why, user: isCut ? absent("not-reported", `the list cuts it to ${user}`) : known(user) };
}

function evidenceOf(own: OwnContexts, found: ListedHolder | undefined): string[] {
  const contexts = own.size > 0 || found === undefined
    ? ["a list of contexts says nothing about the process itself"]
    : [];
  if (found === undefined) return contexts;
  const nodes = found.uses.map(({ path, isOpen, isMapped }) => {
    const how = [...(isOpen ? ["open"] : []), ...(isMapped ? ["mapped"] : [])];
    return how.length === 0 ? path : `${path} (${how.join(", ")})`;
  });
  return [...contexts, `a list of open files shows it with ${nodes.join(", ")}`];
}

function minorsIn(listed: readonly ListedHolder[]): DeviceMinor[] {
  const minors = listed.flatMap(({ uses }) =>
    uses.flatMap(({ node }) => node.kind === "gpu" ? [node.minor] : [])
  );
  return [...new Set(minors)].sort((a, b) => a - b);
}

/** All that a device node tells of its GPU. Its number is used for an index that the text does not give. */
function gpuOfNode(minor: DeviceMinor, reason: Absent): Gpu {
  return identifiedGpu({
    index: gpuIndex(minor),
    uuid: standInUuid({ minor }),
    name: reason,
    busId: reason,
    minor: known(minor),
  }, reason);
}

function nodeProblems(
  gpus: readonly Gpu[],
  listed: readonly ListedHolder[],
  isNodesOnly: boolean,
): Problem[] {
  const minors = minorsIn(listed);
  if (minors.length === 0) return [];
  if (isNodesOnly) {
    return [{
      subject: "GPU index",
      reason: absent("not-reported"),
      message: `The text gives no index for ${
        plural(minors.length, "GPU")
      }: numbered here as their device nodes are`,
    }];
  }
  const strangers = minors.filter((minor) => !gpus.some((gpu) => isNodeOf(gpu, minor)));
  if (strangers.length === 0) return [];
  const nodes = strangers.map((minor) => `/dev/nvidia${minor}`).join(", ");
  return [{
    subject: "device nodes",
    reason: absent("not-reported"),
    message:
      `The text does not say which GPU ${nodes} is, and it need not be the one of that index: ${"nvidia-smi -q gives each GPU's minor number"}`,
  }];
}
