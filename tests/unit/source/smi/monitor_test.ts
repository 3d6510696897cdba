import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSmiText } from "../../../../lib/source/smi/parse.ts";
import { type SmiSummary, summarise } from "../../../support/smi_summary.ts";

const INCOMPLETE = "incomplete: !hidden (nvidia-smi leaves out processes that it cannot name)";

function read(...lines: readonly string[]): SmiSummary {
  return summarise(parseSmiText(`${lines.join("\n")}\n`));
}

test("parseSmiText() reads pmon by the header above each row, and the last round alone", () => {
  const { kind, gpus, problems } = read(
    "# gpu        pid  type    sm   mem   enc   dec   command",
    "# Idx          #   C/G     %     %     %     %   name",
    "    0        949     G     -     -     -     -   Xorg           ",
    "# gpu        pid  type    fb    sm   mem   enc   dec   command",
    "# Idx          #   C/G    MB     %     %     %     %   name",
    "    0     447153     C  7669     -     -     -     -   python3.9      ",
    "    0     447160   M+C 11057     3     1     -     -   jcef_helper --t",
    "    1          -     -     -     -     -     -     -   -              ",
    "    0     447153     C  7670     -     -     -     -   python3.9      ",
    "    1          -     -     -     -     -     -     -   -              ",
  );
  assert.deepEqual([kind, gpus?.map(({ gpu, list, contexts }) => ({ gpu, list, contexts }))], ["pmon", [
    { gpu: "0 index:0", list: INCOMPLETE, contexts: ["447153 compute 7670 MiB python3.9"] },
    { gpu: "1 index:1", list: INCOMPLETE, contexts: [] },
  ]]);
  assert.equal(problems, undefined);
});

test("parseSmiText() forgets what pmon showed of a GPU in an earlier round", () => {
  const header = "# gpu        pid  type    fb   command";
  const rounds = [
    ["    0        123     C  5000   python", "    0          -     -     -   -     "],
    ["    0          -     -     -   -     ", "    0        124     C  5000   python"],
    [
      "    0        123     C  5000   python",
      "    1         77     C  5000   python",
      "    0        124     C  6000   python",
      "    1          -     -     -   -     ",
    ],
    [
      "    0        123     C  5000   python",
      "    1         77     C  5000   python",
      "    0        124     C  6000   python",
      "    0        123     C  5001   python",
    ],
  ].map((rows) => read(header, ...rows).gpus?.map(({ contexts }) => contexts));
  assert.deepEqual(rounds, [
    [[]],
    [["124 compute 5000 MiB python"]],
    [["124 compute 6000 MiB python"], []],
    [["124 compute 6000 MiB python", "123 compute 5001 MiB python"], ["77 compute 5000 MiB python"]],
  ]);
});

test("parseSmiText() forgets what dmon showed where its last round shows nothing", () => {
  const { gpus } = read(
    "# gpu    pwr     sm     fb",
    "    0     77      5   1551",
    "    0     77      -      -",
  );
  assert.equal(gpus?.[0]?.values.includes("1551"), false);
});

test("parseSmiText() reads pmon with the date and the time before each row", () => {
  const { gpus } = read(
    "#YYYYMMDD  HH:MM:SS  gpu        pid  type    fb   command",
    "#YYYYMMDD  HH:MM:SS  Idx          #   C/G    MB   name",
    " 20260714  09:00:44    0     447160     C   790   a b c",
  );
  assert.deepEqual(gpus?.[0]?.contexts, ["447160 compute 790 MiB a b c"]);
});

test("parseSmiText() reads a row of pmon with too few columns as a problem", () => {
  const { problems } = read(
    "# gpu        pid  type    sm   mem   enc   dec   command",
    "    0        949     G     -",
  );
  assert.deepEqual(
    problems?.[0],
    'line 2 | !implausible (0        949     G     -) | Cannot read line 2: expected 8 columns: current value is "0        949     G     -"',
  );
});

test("parseSmiText() gives a process of a headless pmon row no name and no memory", () => {
  const { gpus } = read("    0     447160     C     3     1     -     -     -     -   python         ");
  assert.deepEqual(gpus?.[0]?.contexts, ["447160 compute !not-reported"]);
});

test("parseSmiText() reads used memory and utilization of dmon", () => {
  const { kind, gpus, listing } = read(
    "# gpu    pwr  gtemp  mtemp     sm    mem     fb   bar1",
    "# Idx      W      C      C      %      %     MB     MB",
    "    0     77     33     33      0      0    616      1",
    "    1      -     33      -      -      0      -      1",
  );
  assert.deepEqual([kind, listing, gpus?.map(({ gpu, values }) => `${gpu} ${values}`)], ["dmon", "unknown", [
    "0 index:0 used 616 MiB; usedIncludesReserve !not-reported (the text does not name the driver's version); utilization 0",
    "1 index:1 used !not-reported (-); usedIncludesReserve !not-reported (the text does not name the driver's version); utilization !not-reported (-)",
  ]]);
});
