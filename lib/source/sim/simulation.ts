/** The door to simulated servers: what the world offers of them. */
import type { Simulation } from "../../world/ports.ts";
import type { JobWorld } from "./stage.ts";

/** Offers simulated servers. Loads what it needs when it is needed. */
export function openSimulation(world: JobWorld): Simulation {
  return {
    async init(directory, plan) {
      const { initSimServer } = await import("./init.ts");
      return initSimServer(directory, plan).gpus.length;
    },
    async hold(plan) {
      const { holdMemory } = await import("./scenes.ts");
      return await holdMemory(plan, world);
    },
    async work() {
      const { work } = await import("./worker.ts");
      await work(world.terminal);
    },
  };
}
