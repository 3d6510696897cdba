import assert from "node:assert/strict";
import { test } from "node:test";
import { simCommand } from "../../../commands/sim.ts";
import type { Ending } from "../../../lib/core/errors.ts";
import type { JobPlan, ServerPlan } from "../../../lib/model/simulation.ts";

/** Runs a command line on a simulation that only notes what it is asked for. */
async function run(...words: readonly string[]): Promise<{ asked: unknown[]; out: string; ended: Ending[] }> {
  const asked: unknown[] = [];
  const ended: Ending[] = [];
  let out = "";
  const simulation = {
    init(directory: string, plan: ServerPlan) {
      asked.push(["init", directory, plan]);
      return Promise.resolve(2);
    },
    hold(plan: JobPlan) {
      asked.push(["hold", plan]);
      return Promise.resolve({ status: 7 });
    },
    work() {
      asked.push(["work"]);
      return Promise.resolve();
    },
  };
  const command = simCommand(
    { simulation, terminal: { out: (text) => out += text } },
    (ending) => ended.push(ending),
  );
  for (const each of [command, ...command.commands]) {
    each.exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} });
  }
  await command.parseAsync([...words], { from: "user" });
  return { asked, out, ended };
}

const PLAIN = {
  directory: "/tmp/a",
  gpus: [0],
  size: 1024 ** 3,
  scene: "plain",
  endsCleanly: false,
  hasStrayContext: false,
  hasPeerContexts: false,
  setsVariableLate: false,
  erasesEnvironment: false,
};

test("sim init passes its plan on and says how to use the server", async () => {
  assert.deepEqual(
    await run("init", "/tmp/a b", "--gpus", "2", "--memory", "80GiB", "--name", "L4", "--faults", "f.toml"),
    {
      asked: [["init", "/tmp/a b", { gpus: 2, memory: 80 * 1024 ** 3, name: "L4", faultsPath: "f.toml" }]],
      out: "Simulated server with 2 GPUs. To look at it: gpuctl snapshot --source 'sim:/tmp/a b'\n",
      ended: ["ok"],
    },
  );
  assert.deepEqual((await run("init", "/tmp/a")).asked, [["init", "/tmp/a", {}]]);
});

test("sim hold runs a plain job on GPU 0 unless it is told otherwise, and ends as the job does", async () => {
  assert.deepEqual(await run("hold", "--sim", "/tmp/a"), {
    asked: [["hold", PLAIN]],
    out: "",
    ended: [{ status: 7 }],
  });
  assert.deepEqual((await run("hold", "--source", "sim:/tmp/a")).asked, [["hold", PLAIN]]);
});

const FLAGS = [
  "--stray-context",
  "--late-variable",
  "--set-visible-devices",
  "1,2",
  "--erase-environment",
] as const;

test("sim hold passes on what it is told", async () => {
  const words = [
    "--gpu",
    "0,3",
    "--bytes",
    "2GiB",
    "--for",
    "10s",
    "--scene",
    "forked-child",
    "--clean-exit",
  ];
  const { asked } = await run("hold", "--sim", "/tmp/a", ...words, ...FLAGS);
  assert.deepEqual(asked, [["hold", {
    directory: "/tmp/a",
    gpus: [0, 3],
    size: 2 * 1024 ** 3,
    scene: "forked-child",
    runFor: 10_000,
    endsCleanly: true,
    hasStrayContext: true,
    hasPeerContexts: false,
    setsVariableLate: true,
    visibleDevices: "1,2",
    erasesEnvironment: true,
  }]]);
});

test("sim hold gives each rank a GPU", async () => {
  const { asked } = await run("hold", "--sim", "/tmp/a", "--ranks", "3");
  assert.deepEqual(asked, [["hold", { ...PLAIN, gpus: [0, 1, 2], ranks: 3 }]]);
  const peers = await run("hold", "--sim", "/tmp/a", "--ranks", "2", "--peer-contexts");
  assert.deepEqual(peers.asked, [["hold", { ...PLAIN, gpus: [0, 1], ranks: 2, hasPeerContexts: true }]]);
});

test("sim hold lets a plain job grow, and no other", async () => {
  const { asked } = await run("hold", "--sim", "/tmp/a", "--grow", "100MiB/s");
  assert.deepEqual(asked, [["hold", { ...PLAIN, growth: 100 * 1024 ** 2 }]]);
  await assert.rejects(run("hold", "--sim", "/tmp/a", "--grow", "1GiB/s", "--ranks", "2"), {
    message: "Cannot grow: only a plain job does, and none with ranks",
  });
});

test("sim hold refuses what makes no sense", async () => {
  const refusals: readonly (readonly [readonly string[], string])[] = [
    [[], "Cannot run a job: no simulated server is named"],
    [["--source", "nvml"], "Cannot run a job: no simulated server is named"],
    [
      ["--sim", "/tmp/a", "--ranks", "2", "--scene", "stopped"],
      "Cannot start ranks in the scene stopped: ranks have a scene of their own",
    ],
    [
      ["--sim", "/tmp/a", "--peer-contexts"],
      "Cannot take contexts on the GPUs of other ranks: --ranks starts none",
    ],
    [
      ["--sim", "/tmp/a", "--gpu", "GPU-1"],
      `error: option '--gpu <list>' argument 'GPU-1' is invalid. Cannot parse "GPU-1" as GPUs of a job: expected numbers, such as 0,1`,
    ],
    [
      ["--sim", "/tmp/a", "--gpu", "1,1"],
      `error: option '--gpu <list>' argument '1,1' is invalid. Cannot parse "1,1" as GPUs of a job: one is named twice`,
    ],
    [
      ["--sim", "/tmp/a", "--ranks", "0"],
      `error: option '--ranks <number>' argument '0' is invalid. Cannot parse "0" as a number: expected 1 or more`,
    ],
  ];
  for (const [words, message] of refusals) await assert.rejects(run("hold", ...words), { message });
});

test("sim worker leaves its words alone and is not shown", async () => {
  const words = ["--", "-c", "from x import y", "--multiprocessing-fork"];
  assert.deepEqual(await run("worker", ...words), { asked: [["work"]], out: "", ended: ["ok"] });
  const command = simCommand({
    simulation: { init: never, hold: never, work: never },
    terminal: { out: never },
  }, never);
  assert.doesNotMatch(command.helpInformation(), /worker/);
});

function never(): never {
  throw new Error("nobody asked for this");
}
