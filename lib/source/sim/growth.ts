/** A job that leaks: it takes more and more, until its GPU is full. */
import { type Bytes, bytes } from "../../core/units.ts";
import { type CudaHolding, findRoom } from "./cuda.ts";
import { enlarge } from "./memory.ts";
import type { Stage } from "./stage.ts";

const STEP_MS = 50;

/** Enlarges what a job holds on each GPU, bit by bit, by so much a second. */
export function startGrowth(
  { server, kernel }: Pick<Stage, "server" | "kernel">,
  perSecond: Bytes,
  { contexts }: Pick<CudaHolding, "contexts">,
): Disposable {
  const startedAt = performance.now();
  let grown = 0;
  const timer = setInterval(() => {
    const due = Math.floor(perSecond * (performance.now() - startedAt) / 1000);
    for (const memory of contexts) {
      const room = findRoom(server, memory.place, kernel.locks);
      if (room !== undefined && room.free >= due - grown) enlarge(memory, bytes(due - grown));
    }
    grown = due;
  }, STEP_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
