/**
 * A worker of a scene. It does everything in order on its one thread, reading and sleeping where it has to wait, so
 * that any signal does to it what it does to a plain program.
 */
import { closeSync, read, readSync, writeSync } from "node:fs";
import process from "node:process";
import { milliseconds } from "../../core/units.ts";
import { sleep } from "../../native/sleep.ts";
import { findStat } from "../../proc/stat.ts";
import { startCuda } from "./cuda.ts";
import { eraseEnvironment } from "./erase_environment.ts";
import { type Kernel, openKernel } from "./kernel.ts";
import { adoptNodes } from "./nodes.ts";
import {
  FIRST_INHERITED_DESCRIPTOR,
  type OrderFor,
  parseOrder,
  STANDING_DESCRIPTOR,
  type WorkerOrder,
} from "./orders.ts";
import { formatReady } from "./ready.ts";
import { readSimServer } from "./server.ts";
import type { Output } from "./stage.ts";

const STANDARD_INPUT = 0;
const POLL = milliseconds(2);
const SIGKILL = 9;
const SLOW_POLL = milliseconds(50);

/** Carries out the order on standard input and returns when the worker's time is over. */
export async function work(terminal: Output): Promise<void> {
  const order = parseOrder(readLine());
  const kernel = await openKernel();
  switch (order.role) {
    case "cuda":
      return workAsCuda(order, { kernel, terminal });
    case "forked":
      return workAsForked(order, { kernel, terminal });
    case "releaser":
      return release(order, kernel);
    case "tracker":
      return track(order);
  }
}

interface WorkerWorld {
  readonly kernel: Kernel;
  readonly terminal: Output;
}

async function workAsCuda(order: OrderFor<"cuda">, { kernel, terminal }: WorkerWorld): Promise<void> {
  const { directory, used, visible, size, strays, imports } = order;
  if (order.erasesEnvironment) eraseEnvironment();
  startCuda(
    readSimServer(directory),
    { view: { used, visible }, size, parts: 1, strays, imports },
    kernel,
  );
  switch (order.then) {
    case "follow":
      sayStanding();
      return void readToEnd();
    case "outlive":
      sayStanding();
      announce(order, terminal);
      return sleepUntil(order.endsAt);
    case "stop":
      followMain(order, kernel);
      sayStanding();
      process.kill(process.pid, "SIGSTOP");
      return void readToEnd();
    case "lose-leader":
      followMain(order, kernel);
      sayStanding();
      return await loseLeader(kernel);
  }
}

/** Neither a stopped process nor one without its main thread can end by itself: main ends it, or the kernel with main. */
function followMain({ main }: OrderFor<"cuda">, kernel: Kernel): void {
  kernel.own.endWithParent(SIGKILL);
  if (process.ppid !== main) process.exit(); // It had ended before the kernel was asked.
}

/** Leaves a thread behind that waits for main's end, and ends the main one. */
function loseLeader(kernel: Kernel): Promise<void> {
  return new Promise((resolve) => {
    read(STANDARD_INPUT, new Uint8Array(1), 0, 1, null, () => resolve());
    setImmediate(() => kernel.own.exitThread());
  });
}

function workAsForked(order: OrderFor<"forked">, { kernel, terminal }: WorkerWorld): void {
  const { directory, nodes, inherited, leavesAfter, endsAt } = order;
  adoptNodes(nodes, { directory, first: FIRST_INHERITED_DESCRIPTOR, count: inherited }, kernel);
  sayStanding();
  announce(order, terminal);
  const leavesAt = leavesAfter === undefined ? Infinity : Date.now() + leavesAfter;
  const end = Math.min(leavesAt, endsAt ?? Infinity);
  sleepUntil(end === Infinity ? undefined : end);
}

/** The oldest piece goes last: it is the context. */
function release({ directory, inherited, interval }: OrderFor<"releaser">, kernel: Kernel): void {
  adoptNodes([], { directory, first: FIRST_INHERITED_DESCRIPTOR, count: inherited }, kernel);
  sayStanding();
  readToEnd();
  for (let place = inherited - 1; place >= 0; place--) {
    sleep(milliseconds(interval));
    kernel.close(FIRST_INHERITED_DESCRIPTOR + place);
  }
}

function track({ workers }: OrderFor<"tracker">): void {
  sayStanding();
  while (!workers.every(hasLetGo)) sleep(SLOW_POLL);
}

function sayStanding(): void {
  writeSync(STANDING_DESCRIPTOR, "standing\n");
  closeSync(STANDING_DESCRIPTOR);
}

/** Waits for main's end, and says that the scene stands if this is the worker that has to. */
function announce({ main, announces }: WorkerOrder, terminal: Output): void {
  readToEnd();
  // The pipe breaks a moment before main has let go of its memory and its children.
  while (!hasLetGo(main) || process.ppid === main) sleep(POLL);
  if (announces) terminal.out(`${formatReady([...announces, process.pid], main)}\n`);
}

/** Says whether a process has let go of everything: it is gone, or waits to be reaped with no thread left. */
function hasLetGo(pid: number): boolean {
  const found = findStat(`/proc/${pid}`);
  return found === undefined || found.state === "Z" && found.threads <= 1;
}

function sleepUntil(moment: number | undefined): void {
  sleep(moment === undefined ? undefined : milliseconds(Math.max(0, moment - Date.now())));
}

/** One line of standard input, byte by byte: its end is waited for later. */
function readLine(): string {
  const line: number[] = [];
  const byte = new Uint8Array(1);
  while (readSync(STANDARD_INPUT, byte) === 1 && byte[0] !== 0x0a) line.push(byte[0] ?? 0);
  return new TextDecoder().decode(Uint8Array.from(line));
}

/** Waits until main has gone: it never writes again. */
function readToEnd(): void {
  while (readSync(STANDARD_INPUT, new Uint8Array(1)) > 0);
}
