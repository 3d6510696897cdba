/** The ranks of a job told of as one: a line for all of them, and once what was seen of each. */
import { formatRanges } from "../core/ranges.ts";
import { plural, printable, truncate } from "../core/text.ts";
import type { Holder, HolderJob, JobLauncher } from "../model/snapshot.ts";
import { formatGpus, type GpuNames, NONE } from "./snapshot_columns.ts";
import { formatMemory, usedGpus } from "./snapshot_devices.ts";

const WORDS: Readonly<Record<JobLauncher, string>> = {
  torchrun: "torchrun",
  deepspeed: "DeepSpeed",
  horovod: "Horovod",
  mpi: "MPI",
  slurm: "Slurm",
  "torch-distributed": "torch.distributed",
  vllm: "vLLM",
  sglang: "SGLang",
};

/** Longer names are cut: somebody has chosen them. */
const SHOWN_CHARACTERS = 60;
/** How a sentence names a rank: `LOCAL_RANK=3`. */
const RANK = /\b(\w*RANK)=(\d{1,9})\b/g;

/** Equal for the holders of one job. */
export function jobKey({ launcher, firstPid }: HolderJob): string {
  return `${launcher} ${firstPid}`;
}

/** A sentence without the numbers of ranks, which is all that differs between the ranks of a job. */
export function withoutRanks(sentence: string): string {
  return sentence.replace(RANK, "$1=");
}

/** Sentences that differ in the numbers of ranks alone, as one: `LOCAL_RANK=0-7`. */
export function mergeRanks(sentences: readonly string[]): string {
  const [first = ""] = sentences;
  if (sentences.every((sentence) => sentence === first)) return first;
  const numbers = sentences.map((sentence) =>
    [...sentence.matchAll(RANK)].map(([, , digits]) => Number(digits))
  );
  let place = 0;
  return first.replace(RANK, (_, name: string) => {
    const here = place++;
    return `${name}=${formatRanges(numbers.flatMap((each) => each[here] ?? [])).join(",")}`;
  });
}

/** The holders of each job, by its key. */
export function holdersByJob(holders: readonly Holder[]): ReadonlyMap<string, readonly Holder[]> {
  const jobs = new Map<string, Holder[]>();
  for (const holder of holders) {
    if (holder.job === undefined) continue;
    const key = jobKey(holder.job);
    const others = jobs.get(key);
    if (others) others.push(holder);
    else jobs.set(key, [holder]);
  }
  return jobs;
}

/**
 * Says of some of a job's holders that they are one: `torchrun job, 2 ranks on GPU 0-1: 1.5 GiB (PID 700-701)`; `undefined`
 * where the whole job is one holder.
 */
export function describeJob(
  shown: readonly Holder[],
  { whole, names }: { readonly whole: readonly Holder[]; readonly names: GpuNames },
): string | undefined {
  const job = shown[0]?.job;
  if (job === undefined || whole.length < 2) return undefined;
  const title = job.name === undefined ? "" : ` ${printable(truncate(job.name, SHOWN_CHARACTERS))}`;
  const gpus = formatGpus(shown.flatMap(({ devices }) => usedGpus(devices)), names);
  const place = gpus === "" ? "" : ` on GPU ${gpus}`;
  const memory = formatMemory(shown.flatMap(({ devices }) => devices));
  const size = memory === NONE ? "" : `: ${memory}`;
  const pids = formatRanges(shown.map(({ pid }) => pid)).join(", ");
  return `${WORDS[job.launcher]} job${title}, ${countParts(shown, whole)}${place}${size} (PID ${pids})`;
}

function countParts(shown: readonly Holder[], whole: readonly Holder[]): string {
  const processes = countOf(shown.length, whole.length, ["process", "processes"]);
  // Some that belong to it have no number: then only processes can be counted.
  if (shown.some(({ job }) => job?.rank === undefined)) return processes;
  const ranks = countOf(ranksOf(shown).size, ranksOf(whole).size, ["rank", "ranks"]);
  return ranksOf(shown).size === shown.length ? ranks : `${ranks}, ${processes}`;
}

function ranksOf(holders: readonly Holder[]): ReadonlySet<number> {
  return new Set(holders.flatMap(({ job }) => job?.rank ?? []));
}

function countOf(shown: number, all: number, [one, many]: readonly [string, string]): string {
  return shown === all ? plural(all, one, many) : `${shown} of its ${all} ${many}`;
}
