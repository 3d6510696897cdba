import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSmiText } from "../../../../lib/source/smi/parse.ts";
import { readSmiFixture } from "../../../support/smi_fixtures.ts";
import { type SmiSummary, summarise } from "../../../support/smi_summary.ts";

const A = "GPU-0000000a-0000-0000-0000-000000000000";
const B = "GPU-0000000b-0000-0000-0000-000000000000";

function read(...lines: readonly string[]): SmiSummary {
  return summarise(parseSmiText(`${lines.join("\n")}\n`));
}

test("parseSmiText() joins a GPU query with a process query by UUID", () => {
  const { kind, gpus } = read(
    "index, uuid, memory.used [MiB]",
    `0, ${A}, 0 MiB`,
    `1, ${B}, 1542 MiB`,
    "",
    "gpu_uuid, pid, process_name, used_gpu_memory [MiB]",
    `${B}, 2154, [Not Found], 1542 MiB`,
  );
  assert.deepEqual([kind, gpus?.map(({ gpu, list, contexts }) => ({ gpu, list, contexts }))], ["gpu-csv", [
    {
      gpu: `0 ${A}`,
      list: "incomplete: !not-reported (the query shows compute processes only)",
      contexts: [],
    },
    {
      gpu: `1 ${B}`,
      list: "incomplete: !not-reported (the query shows compute processes only)",
      contexts: ["2154 compute 1542 MiB"],
    },
  ]]);
});

test("parseSmiText() gives the GPUs of a table the UUIDs and MIG names of -L by their index", () => {
  const { gpus } = read(
    readSmiFixture("table_590_mig.txt"),
    `GPU 0: NVIDIA H200 (UUID: ${A})`,
    "  MIG 4g.71gb     Device  0: (UUID: MIG-0000000c-0000-0000-0000-000000000000)",
    "  MIG 1g.18gb     Device  4: (UUID: MIG-0000000d-0000-0000-0000-000000000000)",
  );
  assert.deepEqual(gpus?.map(({ gpu, mig }) => ({ gpu, mig })), [{
    gpu: `0 ${A}`,
    mig: [
      "MIG-0000000c-0000-0000-0000-000000000000 gi 2; ci 0; profile 4g.71gb; total 71424 MiB; used 16925 MiB",
      `mig:${A}/2/1 gi 2; ci 1; total 71424 MiB; used 16925 MiB`,
      `mig:${A}/3/0 gi 3; ci 0; total 33280 MiB; used 17 MiB`,
      `mig:${A}/9/0 gi 9; ci 0; total 16384 MiB; used 9 MiB`,
      "MIG-0000000d-0000-0000-0000-000000000000 gi 10; ci 0; profile 1g.18gb; total 16384 MiB; used 9 MiB",
    ],
  }]);
});

test("parseSmiText() lets the full list of -q stand against what a table denies", () => {
  const { gpus } = read(
    readSmiFixture("ghost_table_apps_pmon.txt").split("gpu_uuid")[0] ?? "",
    readSmiFixture("ghost.xml"),
  );
  assert.deepEqual(gpus?.map(({ gpu, list, contexts }) => ({ gpu, list, contexts })), [
    { gpu: "0 GPU-cccccccc-1111-2222-3333-444444444444", list: "known", contexts: ["2154 compute 1542 MiB"] },
    { gpu: "1 GPU-22222222-1111-2222-3333-444444444444", list: "known", contexts: ["2154 compute 1542 MiB"] },
  ]);
});

test("parseSmiText() adds the processes of pmon to those of a table, each once", () => {
  const { gpus } = read(
    readSmiFixture("table_610.txt"),
    "# gpu        pid  type    fb   command",
    "    0      28511     C   999   ffmpeg",
    "    0      30000     C     5   hidden",
  );
  assert.deepEqual(gpus?.[0]?.contexts, [
    "1720 graphics 173 MiB /usr/bin/gnome-shell",
    "4556 graphics 3 MiB /usr/bin/Xwayland",
    "28511 compute 230 MiB ffmpeg",
    "28512 compute 370 MiB ffmpeg",
    "30000 compute 5 MiB hidden",
  ]);
});

test("parseSmiText() takes no answer of one output for an answer that another refused", () => {
  const { gpus } = read(
    "index, memory.used [MiB], memory.total [MiB]",
    "0, [GPU requires reset], [N/A]",
    "",
    "# gpu     fb     sm",
    "# Idx     MB      %",
    "    0      0      0      0",
  );
  assert.match(gpus?.[0]?.values ?? "", /used !reset-required \(\[GPU requires reset\]\)/);
});

test("parseSmiText() reads who has the devices open beside what the driver says", () => {
  const { kind, holders, gpus } = read(
    readSmiFixture("idle_table.txt"),
    readSmiFixture("fuser_cut_command.txt"),
  );
  assert.deepEqual([kind, gpus?.length, holders], ["table", 1, [
    "396079 root VLLM::EngineCor: /dev/nvidia0 (gpu 0, open, mapped); /dev/nvidiactl (control, open, mapped)",
  ]]);
});

test("parseSmiText() reads the versions of --version beside a table", () => {
  const { driver, kind } = read(
    "NVIDIA-SMI version  : 580.159.04",
    "NVML version        : 580.159",
    "DRIVER version      : 580.159.04",
    "CUDA Version        : 13.0",
  );
  assert.deepEqual([kind, driver], ["version", "version 580.159.04; library 580.159; cuda 13.0"]);
});

test("parseSmiText() refuses a text that names more GPUs than a machine has", () => {
  const rows = Array.from({ length: 1025 }, (_, index) => `${index}, 5 MiB`);
  assert.throws(() => read("index, memory.used [MiB]", ...rows), {
    name: "SyntaxError",
    message: "Cannot read the text as output of nvidia-smi as a machine has at most 1024 GPUs: it names 1025",
  });
});

test("parseSmiText() takes what a process panel says of all GPUs for those that only another output shows", () => {
  const panel = readSmiFixture("table_panel_none.txt");
  const lists = [
    read(panel, "", `GPU 0: NVIDIA H200 (UUID: ${A})`),
    read(panel, "", "index, memory.used [MiB]", "0, 0 MiB", "1, 9 MiB"),
    read(readSmiFixture("table_panel_unreadable.txt"), "", "index, memory.used [MiB]", "0, 0 MiB"),
  ].map(({ gpus }) => gpus?.map(({ list }) => list));
  assert.deepEqual(lists, [
    ["incomplete: !hidden (nvidia-smi leaves out processes that it cannot name)"],
    [
      "known",
      "incomplete: !hidden (nvidia-smi leaves out processes that it cannot name; 9 MiB in use have no row)",
    ],
    ["unknown: !hidden (a process panel with neither rows nor `No running processes found`)"],
  ]);
});

test("parseSmiText() adds nothing of another moment to the driver's whole list, which is then not whole", () => {
  const { gpus, problems } = read(
    readSmiFixture("idle.xml"),
    "# gpu        pid  type    fb   command",
    "    0      30000     C     5   python",
  );
  assert.deepEqual(gpus?.map(({ list, contexts }) => ({ list, contexts })), [{
    list: "incomplete: !implausible (another output in the text has 1 more process)",
    contexts: [],
  }]);
  assert.deepEqual(problems, [
    "text | !implausible (no such row in one, 30000 (5 MiB) in another) | The outputs in the text differ about the processes of GPU-00000000-1111-2222-3333-444444444444: they are of several moments, or of several machines",
  ]);
});

test("parseSmiText() says so where two outputs of a text contradict each other", () => {
  const { gpus, driver, problems } = read(
    readSmiFixture("idle_table.txt"),
    "driver_version, index, memory.used [MiB]",
    "570.10.01, 0, 41551 MiB",
  );
  assert.deepEqual(gpus?.map(({ values }) => /used [^;]*/.exec(values)?.[0]), ["used 0 MiB"]);
  assert.equal(driver, "version 580.159.04; cuda 13.0");
  assert.deepEqual(problems, [
    "text | !implausible (580.159.04 in one, 570.10.01 in another) | The outputs in the text differ about the driver's version: they are of several moments, or of several machines",
    "text | !implausible (0 MiB in one, 41551 MiB in another) | The outputs in the text differ about memory in use of 00000000:00:06.0: they are of several moments, or of several machines",
  ]);
});

test("parseSmiText() takes two GPUs with one index and two addresses for two", () => {
  const { gpus } = read(
    readSmiFixture("idle_table.txt"),
    "index, pci.bus_id, memory.used [MiB]",
    "0, 00000000:99:00.0, 7 MiB",
  );
  assert.deepEqual(gpus?.map(({ gpu }) => gpu), ["0 bus:00000000:00:06.0", "1 bus:00000000:99:00.0"]);
});

test("parseSmiText() reads the instances of MIG names from before R470", () => {
  const { gpus } = read(
    `GPU 0: A100-SXM4-40GB (UUID: ${A})`,
    `  MIG 3g.20gb Device 0: (UUID: MIG-${A}/2/1)`,
    "  MIG 3g.20gb Device 1: (UUID: none)",
  );
  assert.deepEqual(gpus?.[0]?.mig, [`MIG-${A}/2/1 gi 2; ci 1; profile 3g.20gb`]);
});

test("parseSmiText() refuses a text with more processes than a machine has", () => {
  const rows = Array.from({ length: 32_769 }, (_, place) => `${place + 1}, 1 MiB`);
  assert.throws(() => parseSmiText(["pid, used_gpu_memory [MiB]", ...rows, ""].join("\n")), {
    name: "SyntaxError",
    message:
      "Cannot read the text as output of nvidia-smi as a machine has at most 32768 processes on its GPUs: it names 32769",
  });
});
