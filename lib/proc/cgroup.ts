/** Who a process belongs to, by the path of its control group (cgroups(7)). */
import { mapReading, type Reading } from "../core/reading.ts";
import type { Owner } from "../model/process.ts";
import { findContainer } from "./container.ts";
import { readText } from "./files.ts";

/** What the kernel writes behind a path whose directory is gone (cgroups(7), /proc/PID/cgroup). */
const DELETED = " (deleted)";
/** The UID of a pod in a directory of the kubelet: `pod<uid>`, `kubepods-burstable-pod<uid with _>.slice`. */
const POD = /^(?:kubepods-(?:[a-z]+-)?)?pod([0-9a-f][0-9a-f_-]+?)(?:\.slice(?::.*)?)?$/;

/**
 * Parses the text of /proc/PID/cgroup of any hierarchy: version 1, 2 or both side by side.
 *
 * @throws {SyntaxError} if no line is one of a hierarchy.
 */
export function parseCgroup(text: string): Owner {
  const paths = Array.from(text.matchAll(/^\d+:[^:\n]*:(\/.*)$/gm), ([, path = ""]) => path);
  if (paths.length === 0) throw new SyntaxError(`Cannot parse "${text}": expected number:controllers:/path`);
  // Version 1 has a path for each controller, and a manager may have made a group for some of them only.
  const longest = paths.reduce((a, b) => b.length > a.length ? b : a);
  const isCgroupDeleted = longest.endsWith(DELETED);
  const cgroup = isCgroupDeleted ? longest.slice(0, -DELETED.length) : longest;
  const segments = cgroup.split("/").slice(1);
  const container = findContainer(segments);
  const unit = last(segments, (segment) => /^_?(.+\.(?:service|scope))$/.exec(segment)?.[1]);
  const loginSession = last(segments, (segment) => /^session-(c?\d+)\.scope$/.exec(segment)?.[1]);
  const pod = findPod(segments);
  return {
    cgroup,
    isCgroupDeleted,
    ...unit !== undefined && { unit },
    ...loginSession !== undefined && { loginSession },
    ...container && { container },
    ...pod !== undefined && { pod },
    ...findSlurmJob(segments),
  };
}

/** Reads /proc/PID/cgroup. */
export function readOwner(directory: string): Reading<Owner> {
  return mapReading(readText(`${directory}/cgroup`), parseCgroup);
}

function findPod(segments: readonly string[]): string | undefined {
  if (!segments.some((segment) => segment.startsWith("kubepods"))) return undefined;
  return last(segments, (segment) => POD.exec(segment)?.[1])?.replaceAll("_", "-");
}

/**
 * Slurm's groups, of version 2 `[NODE_]slurmstepd.scope/job_J/step_S`, of version 1 `slurm[_NODE]/uid_U/job_J/step_S`. A
 * step is a number, `batch`, `extern` or `interactive`.
 */
function findSlurmJob(segments: readonly string[]): Pick<Owner, "slurmJob" | "slurmStep"> {
  const root = segments.findIndex((segment) => /^slurm(?:_.+)?$|^(?:.+_)?slurmstepd\.scope$/.test(segment));
  if (root < 0) return {};
  const below = segments.slice(root + 1);
  const slurmJob = last(below, (segment) => /^job_(.+)$/.exec(segment)?.[1]);
  const slurmStep = last(below, (segment) => /^step_(.+)$/.exec(segment)?.[1]);
  return { ...slurmJob !== undefined && { slurmJob }, ...slurmStep !== undefined && { slurmStep } };
}

/** What `find` says of the innermost segment of which it says anything: groups nest. */
function last<T>(segments: readonly string[], find: (segment: string) => T | undefined): T | undefined {
  return segments.map(find).findLast((found) => found !== undefined);
}
