/** Who holds a GPU's memory, as several documents have it. */
import * as v from "valibot";
import { PROCESS_STATES } from "../process.ts";
import { HOLDER_CLASSES, JOB_LAUNCHERS } from "../snapshot.ts";
import {
  added,
  BYTES,
  COMMAND,
  COUNT,
  described,
  FLAG,
  GPU_UUID,
  list,
  NULLABLE_TEXT,
  oneOf,
  PID,
  record,
  START_TICKS,
  TEXT,
  UID,
} from "./values.ts";

/** What a process is, as docs/classes.md explains. */
export const CLASS = described(oneOf(HOLDER_CLASSES), "What it is; docs/classes.md explains each");
/** What speaks for a class. */
export const EVIDENCE = described(list(TEXT), "What was seen that makes it so");

/** The container whose cgroup a process is in. */
export const CONTAINER = record({
  id: described(TEXT, "As the runtime names it"),
  runtime: described(
    oneOf(["docker", "containerd", "cri-o", "podman", "lxc", "nspawn", "unknown"]),
    "By the form of the cgroup's path",
  ),
  monitor: described(FLAG, "A helper beside the container, not its payload"),
});

/** Whose a process is, read from its cgroup. A part is null where the path names none. */
export const OWNER = record({
  cgroup: described(TEXT, "Path of its cgroup"),
  cgroupDeleted: described(FLAG, "The cgroup was removed while the process lives on"),
  unit: described(
    NULLABLE_TEXT,
    "systemd unit; null, as for all that follow, when the cgroup path names none",
  ),
  loginSession: described(NULLABLE_TEXT, "Login session"),
  container: described(v.nullable(CONTAINER), "Container"),
  pod: described(NULLABLE_TEXT, "UID of the Kubernetes pod"),
  slurmJob: described(NULLABLE_TEXT, "Slurm job"),
  slurmStep: described(NULLABLE_TEXT, "Slurm step"),
});
export type OwnerJson = v.InferOutput<typeof OWNER>;

/** The job that a holder is a rank of, or that a rank has started it for. */
export const HOLDER_JOB = record({
  launcher: described(oneOf(JOB_LAUNCHERS), "What started its ranks"),
  name: described(
    NULLABLE_TEXT,
    "What its launcher calls it, or where its ranks meet; jobs may be called alike",
  ),
  firstPid: described(PID, "The lowest pid among its holders: equal for all that are known to be of one job"),
  rank: described(
    v.nullable(COUNT),
    "Number of the rank, over all machines of the job; null where it shows none",
  ),
});

/** What a holder has on one GPU. */
export const HOLDER_DEVICE = record({
  gpu: GPU_UUID,
  contextBytes: described(
    v.nullable(BYTES),
    "Bytes of its own contexts there; 0 only where a complete list has none",
  ),
  open: described(v.nullable(FLAG), "It has the device open"),
  mapped: described(v.nullable(FLAG), "It has the device mapped, which marks a client of the driver"),
});

/** A live process that has a GPU open or mapped, or that the driver lists. */
export const HOLDER = record({
  pid: PID,
  startTicks: described(
    v.nullable(START_TICKS),
    "Clock ticks from boot to its start; with pid and bootId it is unique",
  ),
  uid: described(v.nullable(UID), "User id"),
  user: described(NULLABLE_TEXT, "User name"),
  command: COMMAND,
  name: described(TEXT, "Its short name, which it chooses itself"),
  state: described(v.nullable(oneOf(PROCESS_STATES)), "State letter of proc_pid_stat(5)"),
  threads: described(v.nullable(COUNT), "How many threads it has"),
  parentPid: described(v.nullable(COUNT), "Process id of its parent; 0 where that is outside the namespace"),
  owner: described(v.nullable(OWNER), "Whose it is, by its cgroup"),
  job: described(added(HOLDER_JOB), "The job that it is a rank of, or works for; null where it shows none"),
  class: CLASS,
  evidence: EVIDENCE,
  advice: described(TEXT, "The one next thing to do"),
  devices: described(list(HOLDER_DEVICE), "What it has on each GPU"),
});
export type HolderJson = v.InferOutput<typeof HOLDER>;

/** A live process that may keep a ghost's memory. */
export const LIKELY_HOLDER = record({
  pid: PID,
  reasons: described(list(TEXT), "What speaks for it, strongest first"),
});

/** A context whose process is dead. */
export const GHOST = record({
  pid: described(PID, "The dead process that allocated it; never to be signalled"),
  gpu: GPU_UUID,
  contextBytes: described(v.nullable(BYTES), "Bytes that are listed for it"),
  likelyHolders: described(list(LIKELY_HOLDER), "Live processes that may keep it, likeliest first"),
});
export type GhostJson = v.InferOutput<typeof GHOST>;

/** Definitions that a published schema names. */
export const HOLDER_PARTS = {
  holder: HOLDER,
  holderDevice: HOLDER_DEVICE,
  holderJob: HOLDER_JOB,
  owner: OWNER,
  container: CONTAINER,
};
/** The same for ghosts. */
export const GHOST_PARTS = { ghost: GHOST, likelyHolder: LIKELY_HOLDER };
