import assert from "node:assert/strict";
import { test } from "node:test";
import { absent, known } from "../../../../lib/core/reading.ts";
import {
  computeModeOf,
  findAbsence,
  findBusId,
  findName,
  isCutName,
  memoryOf,
  percentOf,
  recoveryActionOf,
  switchOf,
  versionOf,
} from "../../../../lib/source/smi/values.ts";

const MIB = 1024 ** 2;

test("findAbsence() gives each word its reason and keeps the word", () => {
  const words = [
    "[N/A]",
    "N/A",
    "[Not Supported]",
    "Requested functionality has been deprecated",
    "Not available in WDDM driver model",
    "[Function Not Found]",
    "[Not Found]",
    "[No data]",
    "[Insufficient Permissions]",
    "[GPU is lost]",
    "[GPU requires reset]",
    "[Unknown Error]",
    "ERR!",
    "[Timeout]",
    "ERROR: GPU is lost",
  ];
  assert.deepEqual(words.map(findAbsence), [
    absent("not-supported", "[N/A]"),
    absent("not-supported", "N/A"),
    absent("not-supported", "[Not Supported]"),
    absent("not-supported", "Requested functionality has been deprecated"),
    absent("not-supported", "Not available in WDDM driver model"),
    absent("not-supported", "[Function Not Found]"),
    absent("not-reported", "[Not Found]"),
    absent("not-reported", "[No data]"),
    absent("no-permission", "[Insufficient Permissions]"),
    absent("lost", "[GPU is lost]"),
    absent("reset-required", "[GPU requires reset]"),
    absent("failed", "[Unknown Error]"),
    absent("failed", "ERR!"),
    absent("timed-out", "[Timeout]"),
    absent("lost", "ERROR: GPU is lost"),
  ]);
});

test("findAbsence() takes anything in brackets for a word that it does not know yet", () => {
  assert.deepEqual(findAbsence("[Something New]"), absent("not-reported", "[Something New]"));
});

test("findAbsence() finds none in values, nor in a name that only begins with a bracket", () => {
  assert.deepEqual(["0 MiB", "None", "Enabled", "[xarexec] ./job.par", "[a] [b]"].map(findAbsence), [
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("findName() keeps programs that are called like a word for a missing value", () => {
  assert.deepEqual(["error", "unknown", "[celery]", "[xarexec] ./job.par"].map(findName), [
    "error",
    "unknown",
    "[celery]",
    "[xarexec] ./job.par",
  ]);
});

test("findName() finds no name where nvidia-smi prints a status", () => {
  const statuses = [
    "",
    "-",
    "N/A",
    "Unknown Error",
    "[Not Found]",
    "[No data]",
    "[Insufficient Permissions]",
  ];
  assert.deepEqual(new Set(statuses.map(findName)), new Set([undefined]));
});

test("isCutName() sees dots at either end", () => {
  assert.deepEqual(["...ar --shared-files", "NVIDIA GeForce ...", "a...b"].map(isCutName), [
    true,
    true,
    false,
  ]);
});

test("memoryOf() reads MiB with and without a blank", () => {
  assert.deepEqual(["0 MiB", "143771MiB"].map(memoryOf), [known(0), known(143771 * MIB)]);
});

test("memoryOf() calls any other unit, a bare number and a number past 2^53 bytes implausible", () => {
  const texts = ["12 GB", "12", "1.5 MiB", "-1 MiB", "9999999999 MiB", "0x10 MiB"];
  assert.deepEqual(texts.map(memoryOf), texts.map((text) => absent("implausible", text)));
});

test("memoryOf() calls a value that the text does not have not reported", () => {
  assert.deepEqual(memoryOf(undefined), absent("not-reported"));
});

test("percentOf() reads 0 to 100 and nothing above", () => {
  assert.deepEqual(["0 %", "100%", "101 %"].map(percentOf), [
    known(0),
    known(100),
    absent("implausible", "101 %"),
  ]);
});

test("switchOf() reads both words of each pair", () => {
  const words = ["Enabled", "On", "Yes", "Active", "Disabled", "Off", "No", "Not Active"];
  assert.deepEqual(words.map(switchOf), [true, true, true, true, false, false, false, false].map(known));
});

test("computeModeOf() reads the words of the table and of the queries", () => {
  assert.deepEqual(
    ["Default", "E. Process", "Exclusive_Process", "E. Thread", "Prohibited"].map(computeModeOf),
    [
      known("default"),
      known("exclusive-process"),
      known("exclusive-process"),
      known("exclusive-thread"),
      known("prohibited"),
    ],
  );
});

test("recoveryActionOf() reads None as an action, and two words as one", () => {
  assert.deepEqual(
    ["None", "Reset", "Drain P2P", "Drain and Reset", "Node Reboot Required"].map(recoveryActionOf),
    [
      known("none"),
      known("reset"),
      known("drain-p2p"),
      known("drain-and-reset"),
      absent("implausible", "Node Reboot Required"),
    ],
  );
});

test("versionOf() reads versions of two to four parts", () => {
  assert.deepEqual(["13.0", "352.79", "580.159.04", "N/A", "580"].map(versionOf), [
    known("13.0"),
    known("352.79"),
    known("580.159.04"),
    absent("not-supported", "N/A"),
    absent("implausible", "580"),
  ]);
});

test("findBusId() gives every spelling of an address one form, and takes no other text for one", () => {
  assert.deepEqual(
    ["0000:3B:00.0", "00000000:3b:00.0", "3B:00.0", "12:34:56", "3b:00", "N/A"].map(findBusId),
    [
      "00000000:3b:00.0",
      "00000000:3b:00.0",
      "00000000:3b:00.0",
      undefined,
      undefined,
      undefined,
    ],
  );
});
