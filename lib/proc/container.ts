import type { ContainerId } from "../model/process.ts";

const HASH = "[0-9a-f]{64}";
type Runtime = ContainerId["runtime"];

/** How runtimes begin the name of a container's group. */
const RUNTIMES: Readonly<Record<string, Runtime>> = {
  docker: "docker",
  "cri-containerd": "containerd",
  nerdctl: "containerd",
  crio: "cri-o",
  libpod: "podman",
};
const NAMES = Object.keys(RUNTIMES).join("|");
/** `docker-<hash>.scope`, `crio-conmon-<hash>.scope`; without `.scope` where systemd does not manage the groups. */
const PREFIXED = new RegExp(`^(${NAMES})(-conmon)?-(${HASH})(?:\\.scope)?$`);
/** `kubepods-burstable-pod<uid>.slice:cri-containerd:<hash>`: the kubelet counts on systemd, the runtime does not. */
const IN_SLICE = new RegExp(`^[^:]+\\.slice:(${NAMES}):(${HASH})$`);
/** A bare id, or that of an ECS task on Fargate. */
const BARE = new RegExp(`^(?:${HASH}|[0-9a-f]{32}-\\d+)$`);
/** Directories right above a bare id that tell the runtime. Under the kubelet's it may be any. */
const PARENTS: Readonly<Record<string, Runtime>> = {
  docker: "docker",
  moby: "docker",
  "k8s.io": "containerd",
  default: "containerd",
};

/** Finds the innermost container that the segments of a cgroup's path name. */
export function findContainer(segments: readonly string[]): ContainerId | undefined {
  for (let place = segments.length - 1; place >= 0; place--) {
    const [before = "", segment = "", behind] = [segments[place - 1], segments[place], segments[place + 1]];
    const found = findByHash(segment, before) ?? findLxc(segment, before) ?? findNspawn(segment, behind);
    if (found) return found;
  }
  return undefined;
}

function findByHash(segment: string, before: string): ContainerId | undefined {
  const [, name = "", monitor, id] = PREFIXED.exec(segment) ?? [];
  if (id !== undefined) return { id, runtime: RUNTIMES[name] ?? "unknown", isMonitor: monitor !== undefined };
  const [, runtime = "", inner] = IN_SLICE.exec(segment) ?? [];
  if (inner !== undefined) return { id: inner, runtime: RUNTIMES[runtime] ?? "unknown", isMonitor: false };
  if (!BARE.test(segment)) return undefined;
  return {
    id: segment,
    runtime: Object.hasOwn(PARENTS, before) ? PARENTS[before] ?? "unknown" : "unknown",
    isMonitor: false,
  };
}

/** `lxc.payload.NAME` and `lxc.monitor.NAME` of LXC, Incus and Proxmox; older `lxc/NAME`. */
function findLxc(segment: string, before: string): ContainerId | undefined {
  const [, ownRole, ownName] = /^lxc\.(payload|monitor)\.(.+)$/.exec(segment) ?? [];
  if (ownName !== undefined) return { id: ownName, runtime: "lxc", isMonitor: ownRole === "monitor" };
  const parent = /^lxc(?:\.(payload|monitor))?$/.exec(before);
  return parent && segment !== ""
    ? { id: segment, runtime: "lxc", isMonitor: parent[1] === "monitor" }
    : undefined;
}

/** `machine-NAME.scope` or `systemd-nspawn@NAME.service`. libvirt names its guests `machine-qemu\x2d1\x2dNAME.scope`. */
function findNspawn(segment: string, behind: string | undefined): ContainerId | undefined {
  const [, scope, service] = /^(?:machine-(.+)\.scope|systemd-nspawn@(.+)\.service)$/.exec(segment) ?? [];
  const name = scope ?? service;
  if (name === undefined || /^(?:qemu|lxc|xen|ch|bhyve)\\x2d\d+\\x2d/.test(name)) return undefined;
  return { id: unescapeUnit(name), runtime: "nspawn", isMonitor: behind === "supervisor" };
}

/** Undoes systemd.unit(5)'s escaping of one name: `\x2d` is a hyphen. */
function unescapeUnit(name: string): string {
  return name.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
