import type { Pid } from "../core/ids.ts";
import type { DeviceNode } from "./observation.ts";

/** What a listing says that a process has of one device node. */
export interface ListedUse {
  readonly path: string;
  readonly node: DeviceNode;
  readonly isOpen: boolean;
  readonly isMapped: boolean;
}

/** A process in the output of fuser or lsof. Such a listing gives no start time, so nothing can be ended by it. */
export interface ListedHolder {
  readonly pid: Pid;
  /** As printed; lsof and ps cut long names and put a `+` at the end. A number where the user has no name. */
  readonly user?: string;
  /** The process's own short name, at most 15 bytes (comm of proc_pid_stat(5)), where the listing has it. */
  readonly command?: string;
  readonly uses: readonly ListedUse[];
}
