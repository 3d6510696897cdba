import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSmiText } from "../../../../lib/source/smi/parse.ts";
import { type SmiSummary, summarise } from "../../../support/smi_summary.ts";

const RULER = "+-----------------------------------------------------------------------------+";
const GPU_RULER = "+-------------------------------+----------------------+----------------------+";
const GPU_HEAD = [
  RULER,
  "| NVIDIA-SMI 470.57.02    Driver Version: 510.06       CUDA Version: 11.6     |",
  "|-------------------------------+----------------------+----------------------+",
  "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |",
  "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |",
  "|                               |                      |               MIG M. |",
  "|===============================+======================+======================|",
];
const PANEL_HEAD = [
  RULER,
  "| Processes:                                                                  |",
  "|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |",
  "|        ID   ID                                                   Usage      |",
  "|=============================================================================|",
];
const OLD_PANEL_HEAD = [
  RULER,
  "| Processes:                                                       GPU Memory |",
  "|  GPU       PID   Type   Process name                             Usage      |",
  "|=============================================================================|",
];

function read(...lines: readonly string[]): SmiSummary {
  return summarise(parseSmiText(`${lines.join("\n")}\n`));
}

function gpuRows(index: number, memory: string, { util = "0%", mig = "Disabled" } = {}): string[] {
  return [
    `|   ${index}  NVIDIA A30         On   | 00000000:0${index}:00.0 Off |                    0 |`,
    `| N/A   49C    P0    43W / 165W | ${memory.padStart(20)} | ${util.padStart(8)}      Default |`,
    `|                               |                      | ${mig.padStart(20)} |`,
    GPU_RULER,
  ];
}

test("parseSmiText() says when nvidia-smi and the driver are of different versions", () => {
  assert.deepEqual(read(...GPU_HEAD, ...gpuRows(0, "0MiB / 24576MiB")).problems, [
    "nvidia-smi | !not-reported (470.57.02) | nvidia-smi is of version 470.57.02, the driver of 510.06: usual in containers and WSL",
  ]);
});

test("parseSmiText() reads a star as the mode after the next reset", () => {
  const { gpus } = read(
    ...GPU_HEAD,
    ...gpuRows(0, "0MiB / 24576MiB", { mig: "Enabled*" }),
    ...gpuRows(1, "0MiB / 24576MiB", { mig: "Disabled*" }),
  );
  assert.deepEqual(gpus?.map(({ values }) => /mig (\{[^}]*\})/.exec(values)?.[1]), [
    '{"current":false,"pending":true}',
    '{"current":true,"pending":false}',
  ]);
});

test("parseSmiText() reads words in the memory cell as the reason for both numbers, and doubts all of that GPU", () => {
  const { gpus } = read(
    ...GPU_HEAD,
    ...gpuRows(0, "GPU is lost", { util: "ERR!" }),
    ...PANEL_HEAD,
    "|  No running processes found                                                 |",
    RULER,
  );
  assert.deepEqual(gpus, [{
    gpu: "0 bus:00000000:00:00.0",
    values:
      'name NVIDIA A30; bus 00000000:00:00.0; total !lost (GPU is lost); used !lost (GPU is lost); reserved !lost (GPU is lost); free !lost (GPU is lost); usedIncludesReserve false; utilization !failed (ERR!); persistence true; computeMode default; display false; mig {"current":false,"pending":false}',
    list: "unknown: !lost (GPU is lost)",
  }]);
});

test("parseSmiText() knows a panel without rows beside a GPU as unknown, not as empty", () => {
  const { gpus, listing } = read(...GPU_HEAD, ...gpuRows(0, "0MiB / 24576MiB"), ...PANEL_HEAD, RULER);
  assert.deepEqual([listing, gpus?.[0]?.list], [
    "unknown",
    "unknown: !hidden (a process panel with neither rows nor `No running processes found`)",
  ]);
});

test("parseSmiText() does not believe `No running processes found` where memory is in use", () => {
  const { gpus } = read(
    ...GPU_HEAD,
    ...gpuRows(0, "0MiB / 24576MiB"),
    ...gpuRows(1, "2566MiB / 24576MiB"),
    ...PANEL_HEAD,
    "|  No running processes found                                                 |",
    RULER,
  );
  assert.deepEqual(gpus?.map(({ list }) => list), [
    "known",
    "incomplete: !hidden (nvidia-smi leaves out processes that it cannot name; 2566 MiB in use have no row)",
  ]);
});

test("parseSmiText() knows a list whose rows account for all memory in use, to a MiB a row", () => {
  const rows = (used: number) =>
    read(
      ...GPU_HEAD,
      ...gpuRows(0, `${used}MiB / 24576MiB`),
      ...PANEL_HEAD,
      "|    0   N/A  N/A      1000      C   python                            100MiB |",
      "|    0   N/A  N/A      1001      C   python                            200MiB |",
    ).gpus?.map(({ list }) => list);
  assert.deepEqual([rows(302), rows(298)], [["known"], ["known"]]);
  assert.deepEqual(rows(303), [
    "incomplete: !hidden (nvidia-smi leaves out processes that it cannot name; 3 MiB in use have no row)",
  ]);
  assert.deepEqual(rows(290), ["incomplete: !hidden (nvidia-smi leaves out processes that it cannot name)"]);
});

test("parseSmiText() reads GPUs whose processes old drivers do not list", () => {
  const { gpus } = read(
    ...OLD_PANEL_HEAD,
    "|    0                  Not Supported                                         |",
    "|    1     31794    C   python                                        5371MiB |",
    RULER,
  );
  assert.deepEqual(gpus?.map(({ gpu, list, contexts }) => ({ gpu, list, contexts })), [
    { gpu: "0 index:0", list: "unknown: !not-supported (Not Supported)", contexts: undefined },
    {
      gpu: "1 index:1",
      list: "incomplete: !hidden (nvidia-smi leaves out processes that it cannot name)",
      contexts: ["31794 compute 5371 MiB python"],
    },
  ]);
});

test("parseSmiText() reads an error in place of the process rows as the reason", () => {
  const { listing, gpus } = read(
    ...GPU_HEAD,
    ...gpuRows(0, "12MiB / 24576MiB"),
    ...PANEL_HEAD,
    "|  ERROR: Insufficient Permissions                                            |",
  );
  assert.deepEqual([listing, gpus?.map(({ list }) => list)], [
    "unknown",
    ["unknown: !no-permission (ERROR: Insufficient Permissions)"],
  ]);
});

test("parseSmiText() takes a name to its column, whatever it holds", () => {
  const { gpus } = read(
    ...PANEL_HEAD,
    "|    0   N/A  N/A      1000      C   a | b  C  12MiB                      N/A |",
    "|    0   N/A  N/A      1001      G   python   -c   x                     7MiB |",
    "|    0   N/A  N/A      1002    C+G   ...ched --field-trial-handle        9MiB |",
    "|    0   N/A  N/A      1003      Z   odd                                 1MiB |",
    "|    0   N/A  N/A      1004      C   train 12MiB                              |",
  );
  assert.deepEqual(gpus?.[0]?.contexts, [
    "1000 compute !not-supported (N/A) a | b  C  12MiB",
    "1001 graphics 7 MiB python   -c   x",
    "1002 compute+graphics 9 MiB ...ched --field-trial-handle",
    "1003 unknown 1 MiB odd",
    "1004 compute !not-reported train 12MiB",
  ]);
});

test("parseSmiText() reads a row by its words where a long pid has pushed it out of its columns", () => {
  const { gpus } = read(
    ...PANEL_HEAD,
    "|    0   N/A  N/A  1234567890123      C   x      1MiB |",
    "|    0   N/A  N/A   3999999      C   /usr/bin/python              Not Supported |",
  );
  assert.deepEqual(gpus?.map(({ contexts, list }) => ({ contexts, list })), [{
    contexts: ["3999999 compute !not-supported (Not Supported) /usr/bin/python"],
    list: "incomplete: !implausible (1 row could not be read)",
  }]);
});

test("parseSmiText() reads a row that is neither a GPU nor a process as a problem with its line", () => {
  const { problems, listing } = read(
    ...PANEL_HEAD,
    "|  running processes found                                                    |",
    "|  0 App1  1%                                                                 |",
  );
  assert.deepEqual([listing, problems], ["incomplete", [
    'line 6 | !implausible (|  running processes found                                                    |) | Cannot read line 6: expected a GPU or a process: current value is "|  running processes found                                                    |"',
    'line 7 | !implausible (|  0 App1  1%                                                                 |) | Cannot read line 7: expected a GPU or a process: current value is "|  0 App1  1%                                                                 |"',
    "GPUs | !not-reported | The text names no GPU",
  ]]);
});

test("parseSmiText() keeps a MIG mode without devices apart from no word of them", () => {
  const { gpus } = read(
    ...GPU_HEAD,
    ...gpuRows(0, "0MiB / 24576MiB", { mig: "Enabled" }),
    RULER,
    "| MIG devices:                                                                |",
    "+------------------+----------------------+-----------+-----------------------+",
    "| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |",
    "|      ID  ID  Dev |           BAR1-Usage | SM     Unc| CE  ENC  DEC  OFA  JPG|",
    "|                  |                      |        ECC|                       |",
    "|==================+======================+===========+=======================|",
    "|  No MIG devices found                                                       |",
    RULER,
  );
  assert.deepEqual(gpus?.map(({ mig }) => mig), [[]]);
});

test("parseSmiText() lists a GPU that the driver can no longer open beside those of the table", () => {
  const { unreadableGpus, gpus, problems } = read(
    "Unable to determine the device handle for GPU1: 0000:34:00.0: GPU is lost.  Reboot the system to recover this GPU",
    "Thu Aug 27 18:05:38 2026",
    ...GPU_HEAD.map((line) => line.replace("470.57.02", "510.06   ")),
    ...gpuRows(0, "0MiB / 24576MiB"),
  );
  assert.deepEqual([unreadableGpus, gpus?.length, problems], [
    [
      "1 !lost (Unable to determine the device handle for GPU1: 0000:34:00.0: GPU is lost.  Reboot the system to recover this GPU)",
    ],
    1,
    [
      "GPU 1 | !lost (Unable to determine the device handle for GPU1: 0000:34:00.0: GPU is lost.  Reboot the system to recover this GPU) | The driver counts a GPU that it can no longer open. See the kernel log for its Xid; a reset or a reboot is what brings it back",
    ],
  ]);
});

test("parseSmiText() does not mix the fields of two GPUs when the first row of one cannot be read", () => {
  const { gpus, problems } = read(
    ...GPU_HEAD.map((line) => line.replace("470.57.02", "510.06   ")),
    ...gpuRows(0, "1MiB / 24576MiB").slice(0, 1),
    ...gpuRows(1, "2222MiB / 24576MiB").map((line) => line.replace("00000000:01:00.0", "ERR!            ")),
  );
  assert.deepEqual([gpus?.map(({ gpu, values }) => `${gpu} ${values}`), problems?.length], [[
    "0 bus:00000000:00:00.0 name NVIDIA A30; bus 00000000:00:00.0; usedIncludesReserve false; persistence true; display false",
  ], 3]);
});
