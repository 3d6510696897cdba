/** Every parser of text from outside, with what it is given and what must hold whatever that is. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type fc from "fast-check";
import { applySettings } from "../../commands/settings.ts";
import { deadlineOption, gpuOption, newCommand, sizeOption, sourceOption } from "../../commands/options.ts";
import { parseVisibleDevices } from "../../lib/analysis/visible_devices.ts";
import { parseNvidiaVisibleDevices } from "../../lib/analysis/nvidia_visible_devices.ts";
import { parseGpuSelectors } from "../../lib/analysis/select_gpus.ts";
import { GpuctlError } from "../../lib/core/errors.ts";
import { printableLines, splitArguments } from "../../lib/core/text.ts";
import { parseDuration, parseSize } from "../../lib/core/units.ts";
import { parseSnapshot } from "../../lib/model/decode.ts";
import { parseCgroup } from "../../lib/proc/cgroup.ts";
import { parseCmdline } from "../../lib/proc/cmdline.ts";
import { createRecogniser, parseDevices } from "../../lib/proc/devices.ts";
import { parseEnviron } from "../../lib/proc/environ.ts";
import { findProcMount } from "../../lib/proc/hidden.ts";
import { parseMappedFiles, parseNodeMappings } from "../../lib/proc/maps.ts";
import { parseProcStat } from "../../lib/proc/stat.ts";
import { parseProcStatus } from "../../lib/proc/status.ts";
import { parsePasswd } from "../../lib/proc/users.ts";
import { renderSnapshotCsv } from "../../lib/render/snapshot_csv.ts";
import { renderSnapshotJson } from "../../lib/render/snapshot_json.ts";
import { renderSnapshotTable } from "../../lib/render/snapshot_table.ts";
import { parseInformation } from "../../lib/source/identity_report.ts";
import { findAllocationName } from "../../lib/source/sim/allocation.ts";
import { parseFaults } from "../../lib/source/sim/faults.ts";
import { parseSmiText, type SmiReading } from "../../lib/source/smi/parse.ts";
import { snapshotOfText } from "../../lib/world/saved_look.ts";
import { idleGpu } from "../support/driver_reports.ts";
import { readSmiFixture, readSmiManifest } from "../support/smi_fixtures.ts";
import { factsOf } from "./facts.ts";
import { type Mutant, mutantsOf, noiseOf, truncationsOf } from "./mutations.ts";

/** One law of one parser. */
export interface FuzzTarget {
  readonly name: string;
  readonly inputs: fc.Arbitrary<Mutant>;
  /** Throws where the law is broken. */
  readonly check: (mutant: Mutant) => void | Promise<void>;
}

/** Shapes that no fixture has: values without units, pids alone, several processes in -q. */
const SHAPES = [
  "index, uuid, memory.used [MiB], memory.total [MiB]\n0, GPU-0000000a-0000-0000-0000-000000000000, 10151, 81920\n",
  "pid, name, used_gpu_memory [MiB]\n48213, /usr/bin/python3, 10151\n48214, /opt/a b, 70000\n",
  "/dev/nvidia0:         21877m 21878\n/dev/nvidiactl:       21877m 21878m\n",
  "==============NVSMI LOG==============\n\nDriver Version                            : 535.54.03\nAttached GPUs                             : 1\n" +
  "GPU 00000000:01:00.0\n    GPU UUID                              : GPU-0000000a-0000-0000-0000-000000000000\n" +
  "    FB Memory Usage\n        Used                              : 3000 MiB\n    Processes\n" +
  [2154, 21541].map((pid) =>
    `        GPU instance ID                   : N/A\n        Process ID                        : ${pid}\n` +
    `            Type                          : C\n            Name                          : python ${pid}\n` +
    `            Used GPU Memory               : ${pid} MiB\n`
  ).join(""),
];
const SMI_TEXTS = [...SHAPES, ...readSmiManifest().map(({ file }) => readSmiFixture(file))];
/** Of several outputs of one kind the last counts, so a text without its end has other facts. */
const SINGLE_TEXTS = SMI_TEXTS.filter((text) => {
  const reading = readSmi(text);
  return reading !== undefined && !reading.problems.some(({ message }) => message.includes("of one kind"));
});
const SNAPSHOTS = ["version_1.json", "newer_minor.json"].map((name) =>
  readFileSync(new URL(`../fixtures/snapshots/${name}`, import.meta.url), "utf8")
);
const CONFIGS = [
  'source = "nvml"\ndeadline = "3s"\n[snapshot]\nformat = "json"\ngpu = "0,GPU-8932f937"\n[diff]\ntolerance = "10MiB"\n',
  '[snapshot]\njson = true\noutput = "a"\n# end\n',
];
const FAULTS = [
  'hang = false\nlatency = "20ms"\nmemory-api = "v1"\ncuda-order = [1, 0]\n[gpu.0]\nlost = true\nname = "NVIDIA L4"\n' +
  '[[gpu.1.mig]]\ngpu-instance = 1\nprofile = "1g.18gb"\nmemory = "16GiB"\n[gpu.2]\nprocess-list = "denied"\n',
];
const PROC = {
  stat: readFileSync("/proc/self/stat", "utf8"),
  status: readFileSync("/proc/self/status", "utf8"),
  cgroup: "0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n",
  maps: readFileSync("/proc/self/maps", "utf8"),
  mounts: readFileSync("/proc/self/mountinfo", "utf8"),
  devices: readFileSync("/proc/devices", "utf8"),
  passwd: "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000:Ada,,,:/home/ada:/bin/sh\n",
  environ: "CUDA_VISIBLE_DEVICES=0,1\0SLURM_JOB_ID=12\0LOCAL_RANK=3\0",
  cmdline: "/usr/bin/python3\0-c\0import torch\0",
  information:
    "Model: \t\t NVIDIA H200\nIRQ:   \t\t 64\nGPU UUID: \t GPU-00000000-1111-2222-3333-444444444444\nBus Location: \t 0000:00:06.0\nDevice Minor: \t 0\n",
};
const RECOGNISER = createRecogniser(new Map(), []);
const MACHINE = {
  gpus: [0, 1, 2].map((index) => idleGpu(index)),
  unreadableGpus: [],
  deviceOrder: undefined,
};

/** Allows what callers are ready for, and no other error. */
function tolerate(act: () => unknown): void {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof SyntaxError || error instanceof GpuctlError, `threw ${stackOf(error)}`);
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

function readSmi(text: string): SmiReading | undefined {
  try {
    return parseSmiText(text);
  } catch (error) {
    assert.ok(error instanceof SyntaxError, `threw ${stackOf(error)}`);
    return undefined;
  }
}

/** What is read can be shown in every form, safely, and JSON gives it back. */
function checkShown(text: string): void {
  // What was decoded from a file has no half of a character.
  const reading = readSmi(text.toWellFormed());
  if (reading === undefined) return;
  const snapshot = snapshotOfText(reading);
  const json = renderSnapshotJson(snapshot);
  assert.deepEqual(parseSnapshot(json), snapshot);
  for (
    const shown of [
      renderSnapshotTable(snapshot),
      renderSnapshotTable(snapshot, { columns: 80, hasColour: false }),
    ]
  ) {
    assert.equal(printableLines(shown), shown);
  }
  assert.equal(printableLines(renderSnapshotCsv(snapshot)).length > 0, true);
}

function checkFacts({ original, text }: Mutant): void {
  const reading = readSmi(text);
  if (reading === undefined) return;
  const whole = factsOf(parseSmiText(original));
  const invented = [...factsOf(reading)].filter((fact) => !whole.has(fact));
  assert.deepEqual(invented, []);
}

async function checkSettings({ text }: Mutant): Promise<void> {
  const command = newCommand("snapshot", "").addOption(sourceOption()).addOption(gpuOption()).addOption(
    deadlineOption(),
  )
    .addOption(sizeOption("--tolerance <size>", "")).option("--json", "").option("-o, --output <file>", "");
  const files = { readText: () => text, writeWhole: () => {} };
  try {
    await applySettings(command, { everyName: ["snapshot", "diff"], named: "a.toml" }, {
      files,
      variable: () => undefined,
    });
  } catch (error) {
    assert.ok(error instanceof GpuctlError, `threw ${stackOf(error)}`);
  }
}

const WORDS = [
  "0",
  "1",
  "-",
  ",",
  "0-3",
  "GPU-",
  "MIG-",
  "MIG-GPU-1/2/3",
  "0000:3b:00.0",
  "-1",
  " ",
  "all",
  "none",
];
const AMOUNTS = ["1", "10", ".5", "1e9", "ms", "s", "m", "h", "d", "MiB", "GiB", "TiB", "B", " ", "-", "+"];

/** Targets by parser; those of one parser stand together. */
export const FUZZ_TARGETS: readonly FuzzTarget[] = [
  {
    name: "saved text is read and shown, or refused",
    inputs: mutantsOf(SMI_TEXTS),
    check: ({ text }) => checkShown(text),
  },
  {
    name: "saved text without its end holds no fact that the whole does not",
    inputs: truncationsOf(SINGLE_TEXTS),
    check: checkFacts,
  },
  {
    name: "snapshot files",
    inputs: mutantsOf(SNAPSHOTS),
    check: ({ text }) => tolerate(() => parseSnapshot(text)),
  },
  { name: "settings", inputs: mutantsOf(CONFIGS), check: checkSettings },
  {
    name: "faults of a simulated server",
    inputs: mutantsOf(FAULTS),
    check: ({ text }) => tolerate(() => parseFaults(text)),
  },
  ...Object.entries<readonly [keyof typeof PROC, (text: string) => unknown]>({
    parseProcStat: ["stat", parseProcStat],
    parseProcStatus: ["status", parseProcStatus],
    parseCgroup: ["cgroup", parseCgroup],
    parseMappedFiles: ["maps", parseMappedFiles],
    parseNodeMappings: ["maps", (text) => parseNodeMappings(text, RECOGNISER)],
    findProcMount: ["mounts", (text) => findProcMount(text, "/proc")],
    parseDevices: ["devices", parseDevices],
    parsePasswd: ["passwd", parsePasswd],
    parseEnviron: ["environ", parseEnviron],
    parseCmdline: ["cmdline", parseCmdline],
    parseInformation: ["information", (text) => parseInformation(text, "0000:00:06.0")],
  }).map(([name, [file, parse]]): FuzzTarget => ({
    name: `${name}()`,
    inputs: mutantsOf([PROC[file]]),
    check: ({ text }) => tolerate(() => parse(text)),
  })),
  ...Object.entries<readonly [readonly string[], (text: string) => unknown]>({
    parseGpuSelectors: [WORDS, parseGpuSelectors],
    parseVisibleDevices: [WORDS, (text) => parseVisibleDevices(text, MACHINE)],
    parseNvidiaVisibleDevices: [WORDS, (text) => parseNvidiaVisibleDevices(text, MACHINE)],
    parseDuration: [AMOUNTS, parseDuration],
    parseSize: [AMOUNTS, parseSize],
    splitArguments: [["a", "'", '"', "\\", " "], splitArguments],
    findAllocationName: [["812@4026531836.0", ".gi1ci0", ".alloc", ".import"], findAllocationName],
  }).map(([name, [pieces, parse]]): FuzzTarget => ({
    name: `${name}()`,
    inputs: noiseOf(pieces),
    check: ({ text }) => tolerate(() => parse(text)),
  })),
];
