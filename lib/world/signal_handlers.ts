/** Keeps signals that are meant for the job from ending this program. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import process from "node:process";
import type { CatchSignals, PassedSignal } from "./ports.ts";

const SIGNALS: readonly PassedSignal[] = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
/** What timeout(1) can be told to send, and what a limit of setrlimit(2) sends: signal(7), those that end a program. */
const OTHERS = ["SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU", "SIGXFSZ", "SIGIO"] as const;
/** What a key on the terminal sends, to everybody in its foreground. Ctrl-Z is not caught: it suspends us with the job. */
const KEYS: readonly PassedSignal[] = ["SIGINT", "SIGQUIT"];

/** Calls `onSignal` in place of the default action, until disposed of. */
export const catchSignals: CatchSignals = (onSignal, onOther) => {
  const ignored = readIgnored();
  const handlers = SIGNALS.filter((signal) => !ignored(signal)).map((signal) => {
    const handler = () => onSignal({ signal, isFromTerminal: KEYS.includes(signal) && isInForeground() });
    process.on(signal, handler);
    return { signal, handler };
  });
  if (onOther !== undefined) OTHERS.forEach((signal) => process.on(signal, onOther));
  return {
    [Symbol.dispose]() {
      for (const { signal, handler } of handlers) process.off(signal, handler);
      if (onOther !== undefined) OTHERS.forEach((signal) => process.off(signal, onOther));
    },
  };
};

/** Signals that were ignored when we were started, as nohup(1) and background jobs have it: the job is to ignore them too. */
function readIgnored(): (signal: PassedSignal) => boolean {
  const [, mask = "0"] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  const bits = BigInt(`0x${mask}`);
  return (signal) => (bits >> BigInt(constants.signals[signal] - 1) & 1n) === 1n;
}

/** Whether our process group has the terminal: tpgid and pgrp of proc_pid_stat(5). */
function isInForeground(): boolean {
  const text = readFileSync("/proc/self/stat", "utf8");
  const [, , group, , terminal, foreground] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return terminal !== "0" && group === foreground;
}
