import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSmiText, recogniseText } from "../../../../lib/source/smi/parse.ts";
import { type SmiSummary, summarise } from "../../../support/smi_summary.ts";

const NO_HEADER =
  "line 1 | !not-reported (no header line) | Cannot tell what some columns are: the text has no header; run the query again without noheader";
const NO_INDEX =
  "GPU index | !not-reported | The text gives no index for 1 GPU: numbered here in the order of the text";
const NO_VERSION = "usedIncludesReserve !not-reported (the text does not name the driver's version)";
const A = "GPU-0000000a-0000-0000-0000-000000000000";
const B = "GPU-0000000b-0000-0000-0000-000000000000";

function read(...lines: readonly string[]): SmiSummary {
  return summarise(parseSmiText(`${lines.join("\n")}\n`));
}

test("parseSmiText() reads every field of a GPU query that the model has a place for", () => {
  const { gpus, driver, takenAt } = read(
    "timestamp, driver_version, index, uuid, name, pci.bus_id, memory.total [MiB], memory.reserved [MiB], memory.used [MiB], memory.free [MiB], utilization.gpu [%], persistence_mode, compute_mode, display_active, mig.mode.current, mig.mode.pending, gpu_recovery_action, temperature.gpu",
    `2026/07/14 09:00:44.742, 580.159.04, 3, ${A}, NVIDIA H200, 00000000:3B:00.0, 143771 MiB, 616 MiB, 5 MiB, 143150 MiB, 7 %, Enabled, Exclusive_Process, Disabled, Disabled, Enabled, Drain and Reset, 33`,
  );
  assert.deepEqual({ gpus, driver, takenAt }, {
    takenAt: "2026-07-14T09:00:44.742",
    driver: "version 580.159.04",
    gpus: [{
      gpu: `3 ${A}`,
      values:
        'name NVIDIA H200; bus 00000000:3b:00.0; total 143771 MiB; used 5 MiB; reserved 616 MiB; free 143150 MiB; usedIncludesReserve false; utilization 7; persistence true; computeMode exclusive-process; display false; mig {"current":false,"pending":true}; recovery drain-and-reset',
      list: "unknown: !not-reported (this output shows no processes)",
    }],
  });
});

test("parseSmiText() takes MiB and percent for numbers that nounits left bare", () => {
  const { gpus } = read("index, memory.used, utilization.gpu", "0, 15, 7");
  assert.deepEqual(gpus?.[0]?.values, `used 15 MiB; ${NO_VERSION}; utilization 7`);
});

test("parseSmiText() says that used includes the reserve for drivers before 510", () => {
  const { gpus } = read(
    "index, driver_version, memory.used [MiB]",
    "0, 470.57.02, 15 MiB",
    "1, 510.39.01, 15 MiB",
  );
  // One driver drives all GPUs, so two versions in one text are one driver's, the last one read.
  assert.deepEqual(gpus?.map(({ values }) => values), [
    "used 15 MiB; usedIncludesReserve false",
    "used 15 MiB; usedIncludesReserve false",
  ]);
  assert.equal(
    read("index, driver_version, memory.used [MiB]", "0, 470.57.02, 15 MiB").gpus?.[0]?.values,
    "used 15 MiB; usedIncludesReserve true",
  );
});

test("parseSmiText() reads rows of processes by the columns they have, in any order", () => {
  const { gpus } = read(
    "used_gpu_memory [MiB], process_name, pid, gpu_bus_id",
    "10 MiB, ./a, b, 41, 00000000:3B:00.0",
    "20 MiB, ./c, 42, 00000000:3B:00.0",
  );
  assert.deepEqual(gpus, [{
    gpu: "0 bus:00000000:3b:00.0",
    values: `bus 00000000:3b:00.0; ${NO_VERSION}`,
    list: "incomplete: !not-reported (the query shows compute processes only)",
    contexts: ["41 compute 10 MiB ./a, b", "42 compute 20 MiB ./c"],
  }]);
});

test("parseSmiText() reads of a query that repeats itself the last row of each GPU", () => {
  const { gpus } = read(
    "index, memory.used [MiB]",
    ...["0, 10 MiB", "1, 20 MiB", "0, 11 MiB", "1, 22 MiB", "0, 12 MiB"],
  );
  assert.deepEqual(gpus?.map(({ gpu, values }) => [gpu, /used [^;]*/.exec(values)?.[0]]), [
    ["0 index:0", "used 12 MiB"],
    ["1 index:1", "used 22 MiB"],
  ]);
});

test("parseSmiText() takes GPUs of which no row has a name for as many as there are rows", () => {
  assert.equal(read("index, memory.used [MiB]", "[N/A], 5 MiB", "[N/A], 6 MiB").gpus?.length, 2);
});

test("parseSmiText() adds up no process over the looks of a query that repeats itself", () => {
  const { gpus } = read(
    "gpu_uuid, pid, process_name, used_gpu_memory [MiB]",
    `${A}, 100, python, 500 MiB`,
    `${B}, [N/A], [N/A], 7 MiB`,
    `${A}, 101, python, 400 MiB`,
    `${A}, 101, python, 600 MiB`,
    `${B}, 102, python, 700 MiB`,
  );
  assert.deepEqual(gpus?.map(({ contexts }) => contexts), [
    ["101 compute 600 MiB python"],
    ["102 compute 700 MiB python"],
  ]);
});

test("parseSmiText() takes the header of a second query for no row", () => {
  const { gpus, problems } = read(
    "index, name",
    "0, NVIDIA H200",
    "index, memory.used [MiB]",
    "0, 12 MiB",
  );
  assert.deepEqual(gpus?.map(({ gpu, values }) => [gpu, /used [^;]*/.exec(values)?.[0]]), [[
    "0 index:0",
    "used 12 MiB",
  ]]);
  assert.equal(
    problems?.[0],
    "text | !not-reported (gpu-csv) | The text holds 2 outputs of one kind; the last one, from line 4, was read",
  );
});

test("parseSmiText() does not take the end of a number with a thousands comma for the number", () => {
  const { gpus } = read("index, name, memory.used [MiB]", "0, NVIDIA H200, 1,551 MiB");
  assert.deepEqual(gpus?.map(({ values }) => /name.*?used [^;]*/.exec(values)?.[0]), [
    "name NVIDIA H200; used !implausible (1,551 MiB)",
  ]);
  const apps = read("pid, process_name, used_gpu_memory [MiB]", "42, python, 1,551 MiB");
  assert.deepEqual(apps.gpus?.[0]?.contexts, ["42 compute !implausible (1,551 MiB) python"]);
});

test("parseSmiText() takes a GPU's memory without header and unit for no pid", () => {
  const texts = [
    [`${A}, 1551`, `${B}, 3000`],
    [`${A}, 1551, Default`, `${B}, 3000, Default`],
    [`${A}, 1551, 580.159.04`],
    [`${A}, 1551 MiB, 33`, `${B}, 20 MiB, 34`, `${A}, 1551 MiB, 35`, `${B}, 20 MiB, 34`],
  ];
  for (const text of texts) {
    const { kind, gpus } = read(...text);
    assert.deepEqual([kind, gpus?.flatMap(({ contexts = [] }) => contexts)], ["gpu-csv", []]);
  }
});

test("parseSmiText() leaves a number in a process's name alone", () => {
  const { gpus } = read("pid, process_name, used_gpu_memory [MiB]", "42, train, 818 MiB, [N/A]");
  assert.deepEqual(gpus?.[0]?.contexts, ["42 compute !not-supported ([N/A]) train, 818 MiB"]);
});

test("parseSmiText() ends CSV at an empty line and at a line of another output", () => {
  const { gpus, problems } = read(
    "pid, used_gpu_memory [MiB]",
    "42, 5 MiB",
    "",
    "Then, he said, 43, 6 MiB",
    "$ ls, x",
  );
  assert.deepEqual([gpus?.[0]?.contexts, problems], [
    ["42 compute 5 MiB"],
    ["GPUs | !not-reported | The text does not say on which GPU its processes are"],
  ]);
});

test("parseSmiText() reads a query without rows as incomplete: graphics processes are not in it", () => {
  assert.deepEqual(read("pid, process_name, used_gpu_memory [MiB]"), {
    kind: "compute-apps-csv",
    listing: "incomplete",
    driver: "",
    gpus: [],
    problems: ["GPUs | !not-reported | The text names no GPU"],
  });
});

test("parseSmiText() takes no process for a holder from accounting, which keeps those of the past", () => {
  assert.deepEqual(
    read(
      "gpu_uuid, pid, gpu_utilization [%], max_memory_usage [MiB], time [ms]",
      `${A}, 41, 7 %, 1542 MiB, 0 ms`,
    ),
    {
      kind: "accounted-apps-csv",
      listing: "unknown",
      driver: "",
      gpus: [{
        gpu: `0 ${A}`,
        values: NO_VERSION,
        list:
          "unknown: !not-reported (accounting keeps the peaks of processes, past ones too, not what they hold)",
      }],
      problems: [NO_INDEX],
    },
  );
});

test("parseSmiText() reads processes without a header where a pid can be nothing else", () => {
  assert.deepEqual(read(`${A}, 48213, /usr/bin/python, 10151 MiB`, `${A}, 48214, ./a, b, 5 MiB`), {
    kind: "compute-apps-csv",
    listing: "incomplete",
    driver: "",
    gpus: [{
      gpu: `0 ${A}`,
      values: NO_VERSION,
      list: "incomplete: !not-reported (the query shows compute processes only)",
      contexts: ["48213 compute 10151 MiB /usr/bin/python", "48214 compute 5 MiB ./a, b"],
    }],
    problems: [NO_INDEX],
  });
});

test("parseSmiText() gives no name to a number without a header that could be any of several", () => {
  assert.deepEqual(
    read(`0, ${A}, NVIDIA H200, 5 MiB, 143771 MiB`, `1, ${B}, NVIDIA H200, 0 MiB, 143771 MiB`),
    {
      kind: "gpu-csv",
      listing: "unknown",
      driver: "",
      gpus: [
        {
          gpu: `0 ${A}`,
          values: `name NVIDIA H200; ${NO_VERSION}`,
          list: "unknown: !not-reported (this output shows no processes)",
        },
        {
          gpu: `1 ${B}`,
          values: `name NVIDIA H200; ${NO_VERSION}`,
          list: "unknown: !not-reported (this output shows no processes)",
        },
      ],
      problems: [NO_HEADER],
    },
  );
});

test("recogniseText() takes no text with commas for CSV that nothing proves to be nvidia-smi's", () => {
  const texts = [
    "0, 15",
    "48213, 10151",
    "a, b, c",
    '{"uuid": "GPU-1", "used": 5}',
    "name, size, colour",
    "index",
    "The pid, and the name",
  ];
  assert.deepEqual(new Set(texts.map(recogniseText)), new Set([undefined]));
});

test("parseSmiText() tells GPUs with one UUID apart by their addresses", () => {
  const { gpus, problems } = read(
    "uuid, pci.bus_id, index, memory.used [MiB]",
    `${A}, 00000000:3B:00.0, 0, 1 MiB`,
    `${A}, 00000000:5E:00.0, 1, 2 MiB`,
  );
  assert.deepEqual([gpus?.map(({ gpu }) => gpu), problems], [
    ["0 bus:00000000:3b:00.0", "1 bus:00000000:5e:00.0"],
    ["GPU UUID | !implausible | The text gives several GPUs the same UUID: they are told apart by address or index"],
  ]);
});

test("parseSmiText() keeps a hundred problems and counts the rest", () => {
  const rows = Array.from({ length: 250 }, () => "x, y");
  const { problems } = read("pid, process_name, used_gpu_memory [MiB]", ...rows);
  assert.deepEqual([problems?.length, problems?.at(-1)], [
    101,
    "text | !implausible | 151 more problems of the same text, not listed",
  ]);
});
