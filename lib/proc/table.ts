/** The process table: processes are found by pid and held by a descriptor, so that no later one under the pid is meant. */
import { GpuctlError } from "../core/errors.ts";
import { isPid } from "../core/ids.ts";
import type { ProcessIdentity } from "../model/process.ts";
import type { Libc } from "../native/libc.ts";
import { bindPidfd, type PidfdCalls } from "../native/pidfd.ts";
import type { ProcessHandle, ProcessTable, Signal, SignalOutcome } from "../world/ports.ts";
import { findStat } from "./stat.ts";

/** asm-generic/signal.h, the same on both processors. */
const SIGNAL_NUMBERS: Readonly<Record<Signal, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGKILL: 9,
  SIGTERM: 15,
  SIGCONT: 18,
};

/** Opens the table of this machine. */
export function openProcessTable(libc: Libc, procRoot = "/proc"): ProcessTable {
  const pidfd = bindPidfd(libc);
  const findProcess = (pid: number) => isPid(pid) ? findStat(`${procRoot}/${pid}`) : undefined;
  return {
    findProcess,
    openProcess(identity) {
      const isStill = () => findProcess(identity.pid)?.startTicks === identity.startTicks;
      const held = pidfd.open(identity.pid);
      if (held === undefined) {
        if (!isStill()) return undefined;
        throw refusal(identity);
      }
      // The descriptor pins whichever process has this pid now. Only after that does an equal start time prove that it is
      // the one that is meant, and will stay it.
      if (isStill() && !pidfd.hasEnded(held)) return holdProcess(held, pidfd);
      pidfd.close(held);
      return undefined;
    },
  };
}

function holdProcess(held: number, pidfd: PidfdCalls): ProcessHandle {
  return {
    send(signal): SignalOutcome {
      // A zombie takes signals and nothing comes of it.
      if (pidfd.hasEnded(held)) return "gone";
      if (pidfd.send(held, SIGNAL_NUMBERS[signal])) return "sent";
      return pidfd.hasEnded(held) ? "gone" : "denied";
    },
    [Symbol.dispose]: () => pidfd.close(held),
  };
}

function refusal({ pid }: ProcessIdentity): GpuctlError {
  return new GpuctlError("unavailable", `Cannot hold process ${pid}: the kernel gives no descriptor for it`, {
    hint: "Linux 5.3 or later is needed, and a sandbox may keep pidfd_open(2) from programs",
  });
}
