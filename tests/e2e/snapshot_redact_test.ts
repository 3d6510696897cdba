/** `gpuctl snapshot --redact`: what may be shown to strangers. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runGpuctl } from "../support/binary.ts";
import { startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";

const FIXTURES = fileURLToPath(new URL("../fixtures/", import.meta.url));

test("gpuctl snapshot --redact leaves out a job's arguments and the machine, in a table, JSON and CSV", async () => {
  await using server = await startSim({ gpus: 2 });
  await server.hold({ scene: "forked-child", bytes: "1GiB" });
  const uuids = [...(await server.run(["snapshot", "--json"])).stdout.matchAll(/GPU-[0-9a-f-]{36}/g)].map((
    [uuid],
  ) => uuid);
  for (const format of ["table", "json", "csv", "prometheus"]) {
    const { status, stdout, stderr } = await server.run(["snapshot", "--redact", "--format", format]);
    assert.deepEqual([status, stderr], [0, ""]);
    assert.match(stdout, /inherited|gpuctl_/);
    for (const uuid of uuids) assert.ok(!stdout.includes(uuid), `${format} has ${uuid}`);
    assert.ok(!stdout.includes("forked"), stdout);
  }
});

test("gpuctl snapshot --redact reads a saved snapshot, and its own output as it is", async () => {
  using folder = temporaryFolder();
  const source = join(FIXTURES, "snapshots", "version_1.json");
  const once = join(folder.path, "once.json");
  const first = await runGpuctl(["snapshot", "--source", source, "--redact", "--json", "-o", once]);
  assert.deepEqual([first.status, first.stdout, first.stderr], [0, "", ""]);
  const again = await runGpuctl(["snapshot", "--source", once, "--redact", "--json"]);
  assert.equal(again.stdout, readFileSync(once, "utf8"));
});

test("gpuctl snapshot --redact takes the names out of saved nvidia-smi text, even out of the wrong columns", async () => {
  using folder = temporaryFolder();
  const uuid = "GPU-12345678-1234-1234-1234-123456789abc";
  const source = folder.write(
    "smi.csv",
    `gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n${uuid}, 812, /home/zoe/falcon, 520 MiB\n`,
  );
  // Two outputs in one file, the second without a header: its row is taken for a GPU.
  const mixed = folder.write(
    "mixed.csv",
    `index, uuid, name\n0, ${uuid}, NVIDIA H200\n${uuid}, 812, /home/zoe/falcon\n`,
  );
  for (const [file, seen] of [[source, "/home/part-1/part-2"], [mixed, "NVIDIA H200"]] as const) {
    const { status, stdout } = await runGpuctl(["snapshot", "--source", file, "--redact", "--json"]);
    assert.equal(status, 0);
    assert.ok(stdout.includes(`"name": "${seen}"`), stdout);
    assert.doesNotMatch(stdout, /zoe|falcon|12345678/);
  }
});
