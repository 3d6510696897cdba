import { absent, known, type Reading } from "../core/reading.ts";
import type { Environment } from "../model/process.ts";

/** Names that say which GPUs a process may use or what it belongs to, by how they begin. */
const PREFIXES = [
  // Not all of TF_: Terraform's variables begin so too, and hold passwords.
  ...["CUDA_", "NVIDIA_", "NCCL_", "XLA_", "JAX_", "PYTORCH_", "TF_GPU_", "TF_FORCE_GPU_", "TF_XLA_"],
  ...["SLURM_", "KUBERNETES_", "TORCHELASTIC_", "HOROVOD_", "PMI_", "PMIX_", "OMPI_COMM_WORLD_"],
];
/** The same, whole. */
const NAMES = new Set([
  ...["RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "NODE_RANK", "CROSS_RANK"],
  ...["WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"],
  ...["JPY_PARENT_PID", "INVOCATION_ID", "GPU_DEVICE_ORDINAL", "TF_CONFIG", "container", "TMUX", "STY"],
  // Job ids of PBS, LSF, Grid Engine, Flux, Cobalt, OAR, and the index of a Kubernetes job.
  ...[
    "PBS_JOBID",
    "LSB_JOBID",
    "JOB_ID",
    "FLUX_JOB_ID",
    "COBALT_JOBID",
    "OAR_JOB_ID",
    "JOB_COMPLETION_INDEX",
  ],
]);
/** NVIDIA_API_KEY, SLURM_JWT and the like begin as they should and are secrets all the same. */
const SECRET = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|JWT|AUTH/;

/**
 * Parses the text of /proc/PID/environ and keeps the variables that bear on GPUs and on ownership, no others. Of a name
 * that stands twice the first counts, as for getenv(3).
 */
export function parseEnviron(text: string): Reading<Environment> {
  const entries = text.replace(/\0$/, "").split("\0");
  // setproctitle(3) and its like write over the environment, from its start: its length stays, its content does not. A
  // variable that is missing from what they left may well have been set.
  if (text !== "" && !entries.every((entry) => entry.includes("="))) return absent("erased");
  const kept = new Map<string, string>();
  for (const entry of entries) {
    const [name = ""] = entry.split("=", 1);
    if (isKept(name) && !kept.has(name)) kept.set(name, entry.slice(name.length + 1));
  }
  return known(kept);
}

function isKept(name: string): boolean {
  return (NAMES.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix))) && !SECRET.test(name);
}
