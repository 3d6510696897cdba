/** The unit files that clean up regularly: a service that may do what cleaning needs and nothing else, and its timer. */
import { type Milliseconds, milliseconds } from "../core/units.ts";
import { CLEAN_SERVICE, CLEAN_TIMER, UNIT_MARK, type UnitFile } from "../model/unit_file.ts";
import { formatUnitArgument, formatUnitPath, formatUnitProgram, formatUnitSpan } from "./unit_syntax.ts";

export interface CleaningUnits {
  /** Where gpuctl lies. */
  readonly program: string;
  /** The arguments of `gpuctl clean-zombies`. */
  readonly words: readonly string[];
  readonly every: Milliseconds;
  /** How long a run may take before it counts as hanging. */
  readonly limit: Milliseconds;
  /** Without a driver there is nothing to look at; a simulated server has none. */
  readonly needsDriver: boolean;
  /** Folders that the arguments name and a run writes in. */
  readonly writable: readonly string[];
  /** Files that the arguments name and a run reads. */
  readonly readable: readonly string[];
}

/** Variables that make the program run somebody else's code, or write where somebody else says. */
const HOOKS = [
  "BUN_BE_BUN",
  "BUN_BYTECODE_DIGEST_OUT",
  "BUN_BYTECODE_ORDER_NAMES_OUT",
  "BUN_BYTECODE_ORDER_OUT",
  "BUN_INSPECT",
  "BUN_INSPECT_CONNECT_TO",
  "BUN_INSPECT_PRELOAD",
  "BUN_JSC_configFile",
  "BUN_OPTIONS",
  "BUN_PRELOAD",
  "BUN_RUNTIME_TRANSPILER_CACHE_PATH",
  "BUN_TCC_OPTIONS",
  "NODE_OPTIONS",
  "LD_AUDIT",
  "LD_LIBRARY_PATH",
  "LD_PRELOAD",
];

const LONGEST_ACCURACY = milliseconds(60_000);

/** Renders the service and the timer. */
export function renderCleaningUnits(units: CleaningUnits): readonly [service: UnitFile, timer: UnitFile] {
  return [{ name: CLEAN_SERVICE, text: serviceText(units) }, {
    name: CLEAN_TIMER,
    text: timerText(units.every),
  }];
}

function serviceText({ program, words, limit, needsDriver, writable, readable }: CleaningUnits): string {
  const command = [formatUnitProgram(program), "clean-zombies", ...words.map(formatUnitArgument)].join(" ");
  return `${headOf(CLEAN_SERVICE)}
[Unit]
Description=Free GPU memory that was left behind
${needsDriver ? NEEDS_DRIVER : ""}
[Service]
Type=oneshot
ExecStart=${command}
# 10 is memory that is held while nothing may be ended for it: the journal has it as a warning, and the run did its job.
SuccessExitStatus=10
# Far more than a run takes.
TimeoutStartSec=${formatUnitSpan(limit)}
# Jobs come first.
Nice=10
IOSchedulingClass=idle
# What gpuctl does has a priority of its own; what comes without one is an error. Below that are the starts and ends of runs.
SyslogLevel=err
LogLevelMax=notice
# Each would make the program run somebody else's code, or write where somebody else says.
UnsetEnvironment=${HOOKS.join(" ")}

# The lock must outlast the run: one that was started by hand may be holding it.
RuntimeDirectory=gpuctl
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
# The record of what was ended.
LogsDirectory=gpuctl
LogsDirectoryMode=0700
UMask=0077
${CLOSED}
${OPEN}${pathLines(writable, readable)}`;
}

function timerText(every: Milliseconds): string {
  const span = formatUnitSpan(every);
  const tenth = milliseconds(Math.round(every / 10));
  const accuracy = milliseconds(Math.min(tenth, LONGEST_ACCURACY));
  return `${headOf(CLEAN_TIMER)}
[Unit]
Description=Free GPU memory that was left behind, every ${span}

[Timer]
# Nothing is left over from before a boot, so the first look comes one interval after it.
OnBootSec=${span}
# From start to start, and never two at once: a service that is at work is not started again. Both clocks stand still while
# the machine is suspended, as the jobs do, so there is nothing to catch up on and no use for Persistent=.
OnUnitActiveSec=${span}
# Machines that were started together should not all look in the same second.
RandomizedDelaySec=${formatUnitSpan(tenth)}
AccuracySec=${formatUnitSpan(accuracy)}

[Install]
WantedBy=timers.target
`;
}

function headOf(name: string): string {
  return `${UNIT_MARK}. "systemctl edit ${name}" changes it for good; the next install overwrites this file.`;
}

const NEEDS_DRIVER = `# Without the driver nobody holds anything, and looking must not load it.
ConditionPathExists=/proc/driver/nvidia/version
`;

const CLOSED = `
# Closed.
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=tmpfs
PrivateTmp=yes
PrivateNetwork=yes
PrivateIPC=yes
IPAddressDeny=any
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
LimitCORE=0`;

const OPEN = `
# To end other people's processes, to see what they have open and mapped, and to look into their folders in /proc. As root,
# in the machine's own PID and user namespaces, with all of /proc: so no User=, ProtectProc=, ProcSubset=, PrivateUsers=.
CapabilityBoundingSet=CAP_KILL CAP_SYS_PTRACE CAP_DAC_READ_SEARCH
# To ask the driver; PrivateDevices= would hide its nodes. CAP_MKNOD and modules stay closed: the driver's library cannot
# make nodes or load the module through nvidia-modprobe.
DevicePolicy=closed
DeviceAllow=char-nvidia* rw
# For the driver's own daemons, whose sockets lie in the file system.
RestrictAddressFamilies=AF_UNIX
# Where some clusters keep the driver's library.
BindReadOnlyPaths=-/home/kubernetes/bin/nvidia
# The program's runtime compiles code while it runs.
MemoryDenyWriteExecute=no
`;

function pathLines(writable: readonly string[], readable: readonly string[]): string {
  const lines = [
    ...writable.map((path) => `BindPaths=${formatUnitPath(path)}\n`),
    ...readable.map((path) => `BindReadOnlyPaths=${formatUnitPath(path)}\n`),
  ];
  return lines.length === 0 ? "" : `# What the command line names.\n${lines.join("")}`;
}
