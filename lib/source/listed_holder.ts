import { deviceMinor, type Pid } from "../core/ids.ts";
import type { ListedHolder, ListedUse } from "../model/listed_holder.ts";
import type { DeviceNode } from "../model/observation.ts";

const NODE_KINDS = new Map(
  [
    ["/dev/nvidiactl", "control"],
    ["/dev/nvidia-modeset", "modeset"],
    ["/dev/nvidia-uvm", "uvm"],
    ["/dev/nvidia-uvm-tools", "uvm-tools"],
  ] as const,
);

/** The device node of the driver that a path names; `undefined` for any other file. */
export function findListedNode(path: string): DeviceNode | undefined {
  const minor = /^\/dev\/nvidia(\d{1,4})$/.exec(path)?.[1];
  if (minor !== undefined) return { kind: "gpu", minor: deviceMinor(Number(minor)) };
  for (const [name, kind] of NODE_KINDS) if (path === name) return { kind };
  if (/^\/dev\/nvidia-caps\/nvidia-cap\d{1,6}$/.test(path)) return { kind: "capability" };
  if (/^\/dev\/nvidia-nvswitch(?:ctl|\d{1,5})$/.test(path)) return { kind: "nvswitch" };
  return /^\/dev\/nvidia[\w/-]{0,60}$/.test(path) ? { kind: "other" } : undefined;
}

/** Puts each use to its process. Several rows of one process and node come to one use. */
export class HolderLog {
  readonly #holders = new Map<Pid, Omit<ListedHolder, "uses">>();
  readonly #uses = new Map<Pid, Map<string, ListedUse>>();

  add(who: Omit<ListedHolder, "uses">, use: ListedUse): void {
    const uses = this.#uses.get(who.pid) ?? new Map<string, ListedUse>();
    const before = uses.get(use.path);
    const isOpen = use.isOpen || before?.isOpen === true;
    const isMapped = use.isMapped || before?.isMapped === true;
    uses.set(use.path, { ...use, isOpen, isMapped });
    this.#uses.set(who.pid, uses);
    if (!this.#holders.has(who.pid)) this.#holders.set(who.pid, who);
  }

  list(): ListedHolder[] {
    return [...this.#holders.values()].map((who) => ({
      ...who,
      uses: [...this.#uses.get(who.pid)?.values() ?? []],
    }));
  }
}
