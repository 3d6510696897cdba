import assert from "node:assert/strict";
import { closeSync, openSync } from "node:fs";
import { test } from "node:test";
import { initSimServer } from "../../../../lib/source/sim/init.ts";
import { gpuNodePath, readDescription, readSimServer } from "../../../../lib/source/sim/server.ts";
import { runSimSmi } from "../../../../lib/source/sim/smi.ts";
import { type TemporaryFolder, temporaryFolder } from "../../../support/temporary.ts";

interface SmiServer extends TemporaryFolder {
  /** PCI addresses, as nvidia-smi writes them. */
  readonly buses: readonly string[];
}

/** A server of two GPUs. */
function makeServer(faults = ""): SmiServer {
  const folder = temporaryFolder();
  const { gpus } = initSimServer(folder.path, { gpus: 2, faultsPath: folder.write("faults.toml", faults) });
  return { ...folder, buses: gpus.map(({ busId }) => busId.toUpperCase()) };
}

function ended(status: number, text: string) {
  return { kind: "ended", status, signal: undefined, text };
}

const DONE = ended(0, "All done.\n");

test("runSimSmi() resets the GPU that is named, and says so in the words of the real one", async () => {
  using server = makeServer(
    '[gpu.0]\npersistence = false\nrecovery-action = "reset"\nname = "NVIDIA A100"\n',
  );
  const [bus = ""] = server.buses;
  assert.deepEqual(
    await runSimSmi(server.path, ["-i", bus, "-r"]),
    ended(0, `GPU ${bus} was successfully reset.\nAll done.\n`),
  );
  assert.deepEqual(readDescription(server.path).faults.gpu, {
    0: { name: "NVIDIA A100", persistence: false },
  });
});

test("runSimSmi() switches persistence mode of the GPU that is named, and of no other", async () => {
  using server = makeServer();
  const modes = () => readSimServer(server.path).gpus.map(({ faults }) => faults.reset.hasPersistence);
  const [, bus = ""] = server.buses;
  assert.deepEqual([await runSimSmi(server.path, ["-i", bus, "-pm", "0"]), modes()], [DONE, [true, false]]);
  assert.deepEqual([await runSimSmi(server.path, ["-i", bus, "-pm", "1"]), modes()], [DONE, [true, true]]);
});

test("runSimSmi() refuses to reset a GPU that is in use, by persistence mode or by somebody who has it open", async () => {
  using server = makeServer("[gpu.1]\npersistence = false\n");
  const [first = "", second = ""] = server.buses;
  const descriptor = openSync(gpuNodePath(server.path, 1), "r");
  try {
    const run = await runSimSmi(server.path, ["-i", `${first},${second}`, "-r"]);
    assert.deepEqual(run.kind === "ended" && [run.status, ...run.text.split("\n").slice(0, 3)], [
      255,
      "The following GPUs could not be reset:",
      `  GPU ${first}: In use by another client`,
      `  GPU ${second}: In use by another client`,
    ]);
  } finally {
    closeSync(descriptor);
  }
  const free = await runSimSmi(server.path, ["-i", second, "-r"]);
  assert.deepEqual(free, ended(0, `GPU ${second} was successfully reset.\nAll done.\n`));
});

test("runSimSmi() does nothing without a GPU that is there", async () => {
  using server = makeServer();
  const before = readDescription(server.path);
  const [bus = ""] = server.buses;
  for (
    const words of [
      ["-r"],
      ["-i", "", "-r"],
      ["-i", "0", "-r"],
      ["-i", `${bus},0000:ff:00.0`, "-pm", "0"],
      [],
    ]
  ) {
    assert.deepEqual(await runSimSmi(server.path, words), ended(6, "No devices were found\n"));
  }
  assert.deepEqual(readDescription(server.path), before);
});

test("runSimSmi() undoes locked clocks, of which a simulated GPU has none", async () => {
  using server = makeServer();
  const before = readDescription(server.path);
  for (const flag of ["-rgc", "-rmc", "-rac"]) {
    assert.deepEqual(await runSimSmi(server.path, ["-i", server.buses.join(","), flag]), DONE);
  }
  assert.deepEqual(readDescription(server.path), before);
});

test("runSimSmi() takes no order that it does not know for done", async () => {
  using server = makeServer();
  const [bus = ""] = server.buses;
  for (const words of [["-i", bus], ["-i", bus, "-mig", "1"], ["-i", bus, "-pm", "7"]]) {
    const run = await runSimSmi(server.path, words);
    assert.deepEqual([run.kind, run.kind === "ended" && run.status], ["ended", 2]);
  }
});
