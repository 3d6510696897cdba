/** What a redacted document may say: names that every machine with a GPU may have, and that the rules of this program know. */
import { FAMILY_PROGRAMS, isPythonName } from "./lineage.ts";
import { WORDS } from "./redact_words.ts";
import { SYSTEM_PROGRAMS } from "./roles.ts";
import { PRE_FORK_SERVERS } from "./servers.ts";

const PROGRAMS = new Set([
  ...SYSTEM_PROGRAMS.filter((name) => !name.endsWith("*")),
  ...FAMILY_PROGRAMS,
  ...PRE_FORK_SERVERS,
  ...["torchrun", "accelerate", "deepspeed", "horovodrun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun"],
  ...["orted", "prted", "prterun", "hydra_pmi_proxy", "srun", "sbatch", "ray", "ray::IDLE", "vllm", "ollama"],
  ...[
    "jupyter",
    "jupyter-lab",
    "ipython",
    "pt_main_thread",
    "pt_data_worker",
    "cupsd",
    "-bash",
    "-sh",
    "-zsh",
  ],
  ...["gpuctl", "nvidia-smi", "nvtop", "nvitop", "nohup", "setsid", "sudo", "su", "env", "timeout", "xargs"],
  ...[
    "init.scope",
    "cron",
    "crond",
    "atd",
    "ssh",
    "docker",
    "[Not Found]",
    "[N/A]",
    "N/A",
    "-",
    "Insufficient",
  ],
  ...["ipykernel_launcher", "ipykernel", "torch.distributed.run", "torch.distributed.launch"],
]);
const LONGEST_COMM = 15;
/** A name of that length may have been cut by the kernel (TASK_COMM_LEN of linux/sched.h). */
const CUT_PROGRAMS = new Set(
  [...PROGRAMS].filter((name) => name.length > LONGEST_COMM).map((name) => name.slice(0, LONGEST_COMM)),
);
/** Beginnings of names behind which anything may stand. */
const FAMILIES = SYSTEM_PROGRAMS.filter((name) => name.endsWith("*"));
/** Device nodes of the driver, its libraries, and the titles that vLLM and SGLang give their workers. */
const WELL_KNOWN =
  /^(?:nvidia(?:\d{1,3}|ctl|-modeset|-uvm|-uvm-tools|-caps|-cap\d{1,4}|-nvswitch(?:ctl|\d{1,3}))|lib(?:cuda|cudart|nvidia-ml)\.so(?:\.\d{1,4}){0,3}|(?:VLLM::(?:EngineCore|Worker)|sglang::(?:scheduler|detokenizer|data_parallel))(?:_[DTPE]P\d{1,3})*)$/;

/** Directories of the Filesystem Hierarchy Standard and of the kernel, and groups that systemd and runtimes make everywhere. */
const PLACES = new Set([
  ...["", ".", "..", "...", "~", "usr", "bin", "sbin", "lib", "lib32", "lib64", "libexec", "local", "share"],
  ...["opt", "home", "root", "tmp", "var", "run", "etc", "srv", "mnt", "media", "dev", "proc", "sys", "snap"],
  ...["app", "nix", "store", "gnu", "conda", "miniconda3", "anaconda3", "miniforge3", "mambaforge", "envs"],
  ...["venv", ".venv", "site-packages", "dist-packages", "x86_64-linux-gnu", "aarch64-linux-gnu", "xorg"],
  ...[
    "pts",
    "null",
    "shm",
    "self",
    "fd",
    "task",
    "stat",
    "status",
    "maps",
    "cgroup",
    "environ",
    "comm",
    "exe",
  ],
  ...[
    "cmdline",
    "kernel",
    "random",
    "boot_id",
    "osrelease",
    "uptime",
    "driver",
    "nvidia",
    "gpus",
    "fs",
    "fdinfo",
  ],
  ...["system.slice", "user.slice", "app.slice", "session.slice", "machine.slice", "background.slice"],
  ...["kubepods", "kubepods.slice", "kubepods-burstable.slice", "kubepods-besteffort.slice", "burstable"],
  ...["besteffort", "lxc", "lxc.payload", "lxc.monitor", "moby", "k8s.io", "default", "slurm", "system"],
]);

const ARGUMENTS = new Set([
  ...["-c", "-f", "-m", "-u", "-B", "-E", "-I", "-i", "--", "--user", "--system", "--multiprocessing-fork"],
]);
/** What multiprocessing starts a worker with (Lib/multiprocessing/spawn.py, get_command_line). */
const SPAWN =
  /^from multiprocessing\.spawn import spawn_main; spawn_main\(tracker_fd=\d{1,5}, pipe_handle=\d{1,5}\)$/;
/** Accounts that a distribution or the driver makes. */
const USERS = new Set(["root", "nobody", "nvidia-persistenced"]);
/** Words in the release of a kernel that say who built it for whom. */
const FLAVOURS = new Set([
  ...[
    "generic",
    "aws",
    "azure",
    "gcp",
    "gke",
    "oracle",
    "ibm",
    "nvidia",
    "tegra",
    "lowlatency",
    "hwe",
    "cloud",
  ],
  ...[
    "default",
    "rt",
    "lts",
    "pve",
    "microsoft",
    "standard",
    "WSL2",
    "x86",
    "aarch64",
    "amd64",
    "arm64",
    "arch1",
  ],
]);
const RELEASE_MARK = /^(?:\d{1,7}|(?:el|fc|rc|deb|bpo|amzn)\d{1,3})$/;

/** NVML_DEVICE_NAME_V2_BUFFER_SIZE is 96. */
const PRODUCT =
  /^(?:NVIDIA|Tesla|Quadro|GeForce|GRID|TITAN|Graphics Device)(?: [\w.()+-]+(?: [\w.()+/-]+)*)?$/;
/** Numbers of up to seven digits (pids, counts), versions, PCI addresses, and ids made of these. */
const NUMBER =
  /^(?:[-+~]?\d{1,7}(?:[.x]\d{1,7}){0,2}%?|(?:bus:)?[\da-f]{4,8}:[\da-f]{2}:[\da-f]{2}\.[0-7]|(?:index|minor):\d{1,7})$/i;

/** Days and times as snapshots and nvidia-smi write them, nvidia-smi's memory with its unit, and ranges of GPUs. */
const MEASURE =
  /^(?:\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?Z?)?|\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?|\d{1,10}MiB|\d{1,3}-\d{1,3})$/;

/** Says whether a program, or a unit called after it, is one that many machines have. */
export function isPublicProgram(name: string): boolean {
  return PROGRAMS.has(name) || CUT_PROGRAMS.has(name) || isPythonName(name) || WELL_KNOWN.test(name);
}

/** The family of the system's programs that a name belongs to, as it is listed (`systemd-*`). */
export function findFamily(name: string): string | undefined {
  return FAMILIES.find((family) => name.length >= family.length && name.startsWith(family.slice(0, -1)));
}

/** Says whether the driver may call a GPU so. Text that was read wrongly may stand in its place. */
export function isProduct(name: string): boolean {
  return PRODUCT.test(name);
}

/** Says whether it is a MIG profile, `1g.10gb+me`. */
export function isProfile(profile: string): boolean {
  return /^[\dcg.]{2,12}gb(?:[+-][a-z.]{2,8}){0,2}$/.test(profile);
}

/** Says whether a directory or group has a name of the system's. */
export function isPublicPlace(name: string): boolean {
  return PLACES.has(name) || WELL_KNOWN.test(name);
}

/** Says whether an argument says nothing but how a program was started. */
export function isPublicArgument(word: string): boolean {
  return ARGUMENTS.has(word) || SPAWN.test(word);
}

/** Says whether an account is one that machines have by themselves. */
export function isPublicUser(name: string): boolean {
  return USERS.has(name);
}

/** Says whether a part of a kernel's release names no one. */
export function isPublicRelease(part: string): boolean {
  return FLAVOURS.has(part) || RELEASE_MARK.test(part);
}

/** Says whether a word of a sentence is one of the program's own, or a number. */
export function isPublicWord(word: string): boolean {
  // Without letters, digits and other scripts it is punctuation.
  if (!/[\p{L}\p{N}]|[^\x20-\x7e…→×·−]/u.test(word)) return true;
  if (NUMBER.test(word) || MEASURE.test(word) || /^NVML_[A-Z_]{2,60}$/.test(word) || isPublicProgram(word)) {
    return true;
  }
  return word.replace(/^-{1,2}/, "").split("-").every((part) => WORDS.has(part.toLowerCase()));
}
