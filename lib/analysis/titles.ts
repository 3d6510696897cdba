/** Titles that servers give to the processes that work for them. They count only on a Python interpreter. */
import type { Process } from "../model/process.ts";
import { isPython } from "./lineage.ts";

/** By the program that gives them. Servers give themselves titles as well (VLLM::APIServer): only those of workers are here. */
export const WORKER_TITLES = {
  vllm: /^VLLM::\w*(?:Engine|Worker)/,
  sglang: /^sglang::(?:scheduler|detokenizer|data_parallel)/,
  ray: /^ray::/,
} as const;

/** The title of a process, if it is one of these. */
export function findTitle(process: Process, title: RegExp): string | undefined {
  const first = process.argv.ok ? process.argv.value[0] ?? "" : "";
  return title.test(first) && process.executable.ok && isPython(process) ? first : undefined;
}
