/** What `gpuctl snapshot --json` says, as end-to-end tests look at it. */
import assert from "node:assert/strict";
import { parseDocument } from "./documents.ts";
import type { Ended } from "./running_program.ts";

/** The keys of a snapshot that these tests look at. */
export interface Look {
  readonly source: string;
  readonly simulated: boolean;
  readonly gpus: readonly GpuLook[];
  readonly unreadableGpus: readonly {
    readonly index: number;
    readonly why: string;
    readonly detail: string | null;
  }[];
  readonly holders: readonly HolderLook[];
  readonly ghosts: readonly {
    readonly pid: number;
    readonly gpu: string;
    readonly contextBytes: number | null;
    readonly likelyHolders: readonly { readonly pid: number }[];
  }[];
  readonly problems: readonly {
    readonly at: string | null;
    readonly subject: string;
    readonly why: string;
    readonly detail: string | null;
    readonly message: string;
  }[];
}

interface GpuLook {
  readonly index: number;
  readonly uuid: string;
  readonly name: string | null;
  readonly memoryTotalBytes: number | null;
  readonly memoryUsedBytes: number | null;
  readonly unattributedBytes: number | null;
  readonly utilizationPercent: number | null;
  readonly recoveryAction: string | null;
  readonly processList: string;
  readonly contexts: readonly { readonly pid: number; readonly kind: string }[] | null;
  readonly migInstances: readonly { readonly uuid: string; readonly memoryTotalBytes: number }[] | null;
}

interface HolderLook {
  readonly pid: number;
  readonly class: string;
  readonly user: string | null;
  readonly devices: readonly { readonly gpu: string; readonly contextBytes: number | null }[];
}

/** Reads what a run wrote. @throws {AssertionError} if it did not end with this status, or complained */
export function readLook({ status, stdout, stderr }: Ended, expected = 0): Look {
  assert.deepEqual({ status, stderr }, { status: expected, stderr: "" });
  return parseDocument(stdout);
}

/** Each holder's class and the MiB of its contexts, in the order of their pids. */
export function holdersOf({ holders }: Look): [string, number][] {
  return holders.map(({ class: name, devices }) => [name, inMiB(devices)]);
}

/** The MiB that the dead are listed with, and who likely keeps them. */
export function ghostsOf({ ghosts }: Look): [number, number[]][] {
  return ghosts.map((ghost) => [inMiB([ghost]), ghost.likelyHolders.map(({ pid }) => pid)]);
}

/** What a look did not see beside single values; what depends on the rights of whoever runs the tests is left out. */
export function problemsOf({ problems }: Look): string[] {
  return problems.filter(({ at, subject }) => at === null && subject !== "descriptors")
    .map(({ message }) => message);
}

function inMiB(parts: readonly { readonly contextBytes: number | null }[]): number {
  return parts.reduce((sum, { contextBytes }) => sum + (contextBytes ?? 0), 0) / 1024 ** 2;
}
