/** Texts of which the end is missing: what may be half a value is none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSmiText } from "../../../../lib/source/smi/parse.ts";
import { type SmiSummary, summarise } from "../../../support/smi_summary.ts";

const CUT = "text | !not-reported | The text ends within a line: its last value may be cut and was not read";

function read(text: string): SmiSummary {
  return summarise(parseSmiText(text));
}

test("parseSmiText() does not take the first digits of a number for the number", () => {
  const { gpus, problems } = read("index, memory.used [MiB]\n0, 5\n1, 101");
  assert.deepEqual(gpus?.map(({ values }) => /used [^;]*/.exec(values)?.[0]), [
    "used 5 MiB",
    "used !not-reported ([cut off])",
  ]);
  assert.equal(problems?.[0], CUT);
});

test("parseSmiText() reads the last value where its unit or its shape shows that it is whole", () => {
  const texts = [
    "index, memory.used [MiB]\n0, 5 MiB",
    "index, utilization.gpu [%]\n0, 5 %",
    "index, uuid\n0, GPU-0000000a-0000-0000-0000-000000000000",
    "index, pci.bus_id\n0, 00000000:3B:00.0",
  ];
  for (const text of texts) {
    assert.deepEqual(read(text).gpus, read(`${text}\n`).gpus);
    assert.deepEqual(read(text).problems, read(`${text}\n`).problems);
  }
});

test("parseSmiText() takes no part of a pid, a name or a path for all of it", () => {
  const fuser = read("/dev/nvidia0:  u1  1234 F...m pytho");
  assert.deepEqual(fuser.holders, ["1234 u1 ?: /dev/nvidia0 (gpu 0, open, mapped)"]);
  const brief = read("/dev/nvidia0:  1234m 12");
  assert.deepEqual(brief.holders, []);
  const apps = read("pid, process_name, used_gpu_memory [MiB]\n42, /a, b, 5");
  assert.deepEqual(apps.gpus?.[0]?.contexts, ["42 compute !not-reported ([cut off])"]);
});

test("parseSmiText() reads a refusal without a line end as one", () => {
  assert.deepEqual(read("No devices were found").refusals, ["no-devices"]);
});

test("parseSmiText() does not join a table's row with the bar of a row that is cut off", () => {
  const { gpus } = read(
    [
      "| Processes:                                                                  |",
      "|=============================================================================|",
      "|    0   N/A  N/A      1234      C   python                            100MiB |",
      "|",
    ].join("\n"),
  );
  assert.deepEqual(gpus?.[0]?.contexts, ["1234 compute 100 MiB python"]);
});

/** The end of `nvidia-smi -q` of a GPU with this much in use. */
function processesOf(used: number, end: string): string {
  return [
    "==============NVSMI LOG==============",
    "GPU 00000000:01:00.0",
    "    FB Memory Usage",
    `        Used                              : ${used} MiB`,
    "    Processes",
    "        Process ID                        : 2154",
    "            Type                          : C",
    "            Used GPU Memory               : 100 MiB",
    end,
  ].join("\n");
}

test("parseSmiText() knows the processes of -q that end the text only where they account for all memory", () => {
  const lists = [
    processesOf(3000, ""),
    processesOf(101, ""),
    processesOf(3000, "    Capabilities\n        EGM : no\n"),
  ]
    .map((text) => read(text).gpus?.[0]?.list);
  assert.deepEqual(lists, [
    "incomplete: !hidden (the text ends among the processes: it may be cut; 2900 MiB in use have no row)",
    "known",
    "known",
  ]);
});
