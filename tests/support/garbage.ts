import { memoryUsage } from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes of the heap that are in use once everything that can be collected has been. */
export function heapInUse(): number {
  collect();
  return memoryUsage().heapUsed;
}

function collect(): void {
  const bun: unknown = Reflect.get(globalThis, "Bun");
  if (typeof bun === "object" && bun !== null && "gc" in bun && typeof bun.gc === "function") {
    bun.gc(true);
    return;
  }
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
