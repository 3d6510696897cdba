/** What Prometheus' own programs make of `gpuctl snapshot --format prometheus`. */
import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { needsProgram } from "../support/needs_program.ts";
import { parsePrometheus, type PromText, valuesOf } from "../support/prometheus_text.ts";
import { runProgram, startProgram } from "../support/running_program.ts";
import { startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";

const NEEDS_PROMTOOL = needsProgram("promtool", "prometheus");
const NEEDS_EXPORTER = needsProgram("prometheus-node-exporter", "prometheus-node-exporter");
const SNAPSHOT = ["snapshot", "--format", "prometheus"] as const;
const UNIT = fileURLToPath(new URL("../../deploy/prometheus/gpuctl-metrics.service", import.meta.url));
/** A user who owns nothing, as node_exporter has one of its own. */
const AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] as const;

/** Faults of a simulated server, what snapshot then ends with, and a sample that is to be there. */
const SERVERS: Readonly<Record<string, readonly [faults: string, status: number, sample: RegExp]>> = {
  "in order": ["", 0, /^gpuctl_driver_up 1$/m],
  "whose driver hangs": ["hang = true", 3, /^gpuctl_driver_up 0$/m],
  "with a lost GPU": ["[gpu.1]\nlost = true", 3, /^gpuctl_gpu_unreadable\{index="1",why="lost"\} 1$/m],
  "with a GPU that needs a reset": [
    '[gpu.1]\nrecovery-action = "reset"',
    0,
    /^gpuctl_gpu_recovery_action\{uuid="[^"]+",action="reset"\} 1$/m,
  ],
  "with lists that are denied and cut": [
    '[gpu.0]\nprocess-list = "truncated"\n[gpu.1]\nprocess-list = "denied"',
    0,
    /^gpuctl_gpu_process_list_complete\{uuid="[^"]+"\} 0$/m,
  ],
  "with unattributed memory, counted as old drivers do": [
    'memory-api = "v1"\n[gpu.0]\nunattributed = "1GiB"',
    0,
    /^gpuctl_gpu_memory_used_includes_reserve\{uuid="[^"]+"\} 1$/m,
  ],
  "with MIG and a hostile name": [
    `[gpu.0]\nname = 'A "quoted" \\ name'\n` +
    '[[gpu.0.mig]]\ngpu-instance = 3\nprofile = "2g.35gb"\nmemory = "35GiB"\n' +
    '[[gpu.0.mig]]\ngpu-instance = 3\ncompute-instance = 1\nprofile = "1c.2g.35gb"\nmemory = "35GiB"\n',
    0,
    /^gpuctl_gpu_mig_instance_memory_size_bytes\{uuid="[^"]+",gpu_instance="3"\} 37580963840$/m,
  ],
};

for (const [name, [faults, status, sample]] of Object.entries(SERVERS)) {
  test(`promtool takes what gpuctl writes of a server ${name}`, NEEDS_PROMTOOL, async () => {
    await using server = await startSim({ gpus: 2, faults });
    const ended = await server.run([...SNAPSHOT, "--utilization", "--deadline", "1s"]);
    assert.deepEqual([ended.status, ended.stderr], [status, ""]);
    assert.match(ended.stdout, /^# SIMULATED SERVER: no real GPU is behind these numbers\n/);
    assert.match(ended.stdout, sample);
    parsePrometheus(ended.stdout);
    const judged = await runProgram(["promtool", "check", "metrics"], { input: ended.stdout });
    assert.deepEqual(judged, { status: 0, signal: null, stdout: "", stderr: "" });
  });
}

test("gpuctl snapshot --format prometheus counts a ghost and who keeps it", async () => {
  await using server = await startSim({ gpus: 1 });
  await server.hold({ scene: "forked-child", bytes: "1GiB" });
  const text = parsePrometheus((await server.run(SNAPSHOT)).stdout);
  const values = (name: string) => valuesOf(text, name).map(([, value]) => value);
  assert.deepEqual(values("gpuctl_gpu_ghost_contexts"), [1]);
  assert.deepEqual(values("gpuctl_gpu_ghost_context_bytes"), values("gpuctl_gpu_context_bytes"));
  assert.deepEqual(
    valuesOf(text, "gpuctl_holders").filter(([, value]) => value > 0),
    [[{ class: "inherited" }, 1]],
  );
});

test("gpuctl snapshot --world-readable is 2 where nothing says which file", async () => {
  await using server = await startSim({ gpus: 1 });
  assert.deepEqual(await server.run([...SNAPSHOT, "--world-readable"]), {
    status: 2,
    signal: null,
    stdout: "",
    stderr: "gpuctl: Cannot make the output world-readable: no --output says where it goes\n",
  });
});

/** What node_exporter, as some user, serves of the text files in a folder. */
async function scrape(folder: string, as: readonly string[] = []): Promise<PromText> {
  const [program, ...words] = [
    ...as,
    "prometheus-node-exporter",
    "--collector.disable-defaults",
    "--collector.textfile",
    `--collector.textfile.directory=${folder}`,
    "--web.listen-address=127.0.0.1:0",
    "--web.disable-exporter-metrics",
  ];
  if (program === undefined) throw new Error("there is no program to start");
  // It says on standard error which port the system gave it.
  await using exporter = startProgram(["sh", "-c", 'exec "$0" "$@" 2>&1', program, ...words]);
  const [, address] = await exporter.untilOutput(/Listening on.* address=(127\.0\.0\.1:\d+)/);
  const answer = await fetch(`http://${address}/metrics`);
  assert.equal(answer.status, 200);
  return parsePrometheus(await answer.text());
}

function ofGpuctl({ samples }: PromText): readonly string[] {
  return samples.filter(({ name }) => name.startsWith("gpuctl_")).map((sample) => JSON.stringify(sample))
    .sort();
}

test(
  "node_exporter serves every sample that the shipped service's command wrote",
  NEEDS_EXPORTER,
  async () => {
    await using server = await startSim({ gpus: 2, faults: `[gpu.1]\nname = 'A "quoted" \\ name'` });
    await server.hold({ scene: "forked-child" });
    using folder = temporaryFolder();
    const path = join(folder.path, "gpuctl.prom");
    const [, command = ""] = /^ExecStart=\/usr\/bin\/gpuctl (.*)$/m.exec(readFileSync(UNIT, "utf8")) ?? [];
    const words = command.split(" ").map((word) => word.startsWith("/var/lib/prometheus/") ? path : word);
    assert.deepEqual(await server.run(words), { status: 0, signal: null, stdout: "", stderr: "" });

    assert.deepEqual(readdirSync(folder.path), ["gpuctl.prom"]);
    const written = parsePrometheus(readFileSync(path, "utf8"));
    const served = await scrape(folder.path);
    assert.deepEqual(valuesOf(served, "node_textfile_scrape_error"), [[{}, 0]]);
    // The exporter orders labels by name, and so does this comparison.
    assert.deepEqual(ofGpuctl(sorted(served)), ofGpuctl(sorted(written)));
    assert.deepEqual(
      [...served.types].filter(([name]) => name.startsWith("gpuctl_")).sort(),
      [...written.types].sort(),
    );
  },
);

function sorted(text: PromText): PromText {
  const samples = text.samples.map((sample) => ({
    ...sample,
    labels: Object.fromEntries(Object.entries(sample.labels).sort(([a], [b]) => a < b ? -1 : 1)),
  }));
  return { ...text, samples };
}

test(
  "node_exporter under a user of its own reads the file with --world-readable, and without it does not",
  { ...NEEDS_EXPORTER, ...NEEDS_ROOT },
  async () => {
    await using server = await startSim({ gpus: 1 });
    using folder = temporaryFolder();
    chmodSync(folder.path, 0o755);
    const path = join(folder.path, "gpuctl.prom");
    for (const [flags, mode, error] of [[[], "600", 1], [["--world-readable"], "644", 0]] as const) {
      assert.equal((await server.run([...SNAPSHOT, ...flags, "-o", path])).status, 0);
      assert.equal((statSync(path).mode & 0o777).toString(8), mode);
      const served = await scrape(folder.path, AS_NOBODY);
      assert.deepEqual(valuesOf(served, "node_textfile_scrape_error"), [[{}, error]]);
      assert.equal(ofGpuctl(served).length > 0, error === 0);
    }
  },
);
