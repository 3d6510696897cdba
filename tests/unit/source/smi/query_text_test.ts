import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSmiText } from "../../../../lib/source/smi/parse.ts";
import { readSmiFixture } from "../../../support/smi_fixtures.ts";
import { type SmiSummary, summarise } from "../../../support/smi_summary.ts";

const MIG_QUERY = `
==============NVSMI LOG==============

Timestamp                                 : Thu Oct  2 10:00:00 2026
KMD Version                               : 610.57.04
CUDA UMD Version                          : 13.3

Attached GPUs                             : 2
GPU 00000000:01:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    MIG Mode
        Current                           : Enabled
        Pending                           : Enabled
    MIG Device
        Index                             : 0
        GPU Instance ID                   : 2
        Compute Instance ID               : 0
        Device Attributes
            Shared
                Multiprocessor count      : 42
        ECC Errors
            Volatile
                SRAM Uncorrectable        : 0
        Shared FB Memory Usage
            Total                         : 40192 MiB
            Reserved                      : 0 MiB
            Used                          : 12 MiB
            Free                          : 40179 MiB
        Shared BAR1 Memory Usage
            Total                         : 65535 MiB
            Used                          : 7 MiB
    MIG Device
        Index                             : 1
        GPU Instance ID                   : 2
        Compute Instance ID               : 1
        FB Memory Usage
            Total                         : 40192 MiB
            Used                          : 12 MiB
    GPU UUID                              : GPU-00000001-0000-0000-0000-000000000000
    Minor Number                          : 1
    GPU Reset Status
        Reset Required                    : No
        Drain and Reset Recommended       : Yes
    FB Memory Usage
        Total                             : 81920 MiB
        Reserved                          : 869 MiB
        Used                              : 50 MiB
        Free                              : 80999 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 1 MiB
    Compute Mode                          : Default
    Utilization
        Gpu                               : N/A
        Memory                            : N/A
    Processes
        GPU instance ID                   : 2
        Compute instance ID               : 1
        Process ID                        : 12249
            Type                          : C
            Name                          : /root/tools/memhog : 5 MiB
            Used GPU Memory               : 20 MiB
        GPU instance ID                   : 2
        Compute instance ID               : 0
        Process ID                        : 12250
            Type                          : M+C
            Name                          :
            Used GPU Memory               : Not available in WDDM driver model
    Capabilities
        EGM                               : disabled

GPU 00000000:02:00.0
    GPU UUID                              : GPU-00000002-0000-0000-0000-000000000000
    Processes                             : None
`;

function read(text: string): SmiSummary {
  return summarise(parseSmiText(text));
}

test("parseSmiText() reads MIG devices and processes of -q, and keeps a device's memory from its GPU", () => {
  assert.deepEqual(read(MIG_QUERY), {
    kind: "query-text",
    takenAt: "2026-10-02T10:00:00",
    listing: "known",
    driver: "version 610.57.04; cuda 13.3",
    gpus: [
      {
        gpu: "0 GPU-00000001-0000-0000-0000-000000000000",
        values:
          'name NVIDIA A100-SXM4-80GB; bus 00000000:01:00.0; minor 1; total 81920 MiB; used 50 MiB; reserved 869 MiB; free 80999 MiB; usedIncludesReserve false; utilization !not-supported (N/A); computeMode default; mig {"current":true,"pending":true}; recovery drain-and-reset',
        mig: [
          "mig:GPU-00000001-0000-0000-0000-000000000000/2/0 gi 2; ci 0; total 40192 MiB; used 12 MiB",
          "mig:GPU-00000001-0000-0000-0000-000000000000/2/1 gi 2; ci 1; total 40192 MiB; used 12 MiB",
        ],
        list: "known",
        contexts: [
          "12249 compute 20 MiB gi 2 ci 1 /root/tools/memhog : 5 MiB",
          "12250 mps-client !not-supported (Not available in WDDM driver model) gi 2 ci 0",
        ],
      },
      {
        gpu: "1 GPU-00000002-0000-0000-0000-000000000000",
        values: "bus 00000000:02:00.0; usedIncludesReserve false",
        list: "known",
        contexts: [],
      },
    ],
    problems: [
      "process 12250 on GPU 0 | !not-reported | nvidia-smi could not name process 12250: it is dead, or cannot be seen from where it was asked",
    ],
  });
});

test("parseSmiText() reads -q that has lost its indentation, and no memory that may be a MIG device's", () => {
  const flat = MIG_QUERY.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, " ")).join("\n");
  const { gpus, problems } = read(flat);
  assert.deepEqual([gpus?.[0]?.values, gpus?.[0]?.contexts?.length, problems?.[0]], [
    'name NVIDIA A100-SXM4-80GB; bus 00000000:01:00.0; minor 1; usedIncludesReserve false; utilization !not-supported (N/A); computeMode default; mig {"current":true,"pending":true}; recovery drain-and-reset',
    2,
    "line 14 | !implausible (MIG Device) | Cannot read line 14: expected indentation, to tell a MIG device's memory from its GPU's: current value is \"MIG Device\"",
  ]);
});

test("parseSmiText() reads the same of -q with and without its indentation where no MIG device is", () => {
  const text = readSmiFixture("idle_query.txt");
  const flat = text.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, " ")).join("\n");
  assert.deepEqual(read(flat), read(text));
});

test("parseSmiText() reads some sections of -q, chosen by -d, and says which GPUs it numbered itself", () => {
  const text = `GPU 00000000:01:00.0
    FB Memory Usage
        Total                             : 81920 MiB
        Used                              : 50 MiB
    Processes                             : Insufficient Permissions
`;
  assert.deepEqual(read(text), {
    kind: "query-text",
    listing: "unknown",
    driver: "",
    gpus: [{
      gpu: "0 bus:00000000:01:00.0",
      values:
        "bus 00000000:01:00.0; total 81920 MiB; used 50 MiB; usedIncludesReserve !not-reported (the text does not name the driver's version)",
      list: "unknown: !no-permission (Insufficient Permissions)",
    }],
    problems: [
      "GPU index | !not-reported | The text gives no index for 1 GPU: numbered here in the order of the text",
    ],
  });
});

test("parseSmiText() ends -q where text at the margin begins", () => {
  const text = `${
    readSmiFixture("idle_query.txt")
  }Then Used : 500 MiB was seen\nProcesses\n    Process ID : 99\n`;
  assert.deepEqual(read(text).gpus, read(readSmiFixture("idle_query.txt")).gpus);
});

test("parseSmiText() gives no process what a process without a pid holds", () => {
  const text = readSmiFixture("idle_query.txt").replace(
    /Processes +: None/,
    [
      "Processes",
      "            Type                          : G",
      "            Used GPU Memory               : 7 MiB",
      "        Process ID                        : 42",
      "            Type                          : C",
      "            Used GPU Memory               : 5 MiB",
      "            Type                          : C",
      "            Used GPU Memory               : 900 MiB",
    ].join("\n"),
  );
  assert.deepEqual(summarise(parseSmiText(text)).gpus?.map(({ list, contexts }) => [list, contexts]), [[
    "incomplete: !implausible (2 rows could not be read)",
    ["42 compute 5 MiB"],
  ]]);
});
