import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../../../lib/core/reading.ts";
import {
  attempt,
  believe,
  formatStatus,
  ImplausibleAnswer,
  NvmlError,
  whyOfStatus,
} from "../../../../lib/source/nvml/status.ts";

test("whyOfStatus() gives each status of nvml.h its reason, and failed to any other", () => {
  const whys = Object.groupBy([...Array.from({ length: 31 }, (_, n) => n + 1), 999, -1], whyOfStatus);
  assert.deepEqual({ ...whys }, {
    failed: [1, 2, 5, 7, 8, 11, 14, 18, 19, 20, 23, 27, 29, 31, 999, -1],
    "not-supported": [3, 9, 12, 13, 22, 24, 25, 26, 30],
    "no-permission": [4, 17],
    "not-reported": [6, 21, 28],
    "timed-out": [10],
    lost: [15],
    "reset-required": [16],
  });
});

test("formatStatus() gives the library's words and the name to search for", () => {
  assert.equal(formatStatus(15), "GPU is lost (NVML_ERROR_GPU_IS_LOST)");
  assert.equal(formatStatus(77), "a status that nvml.h does not name (77)");
});

test("NvmlError names the call and its status", () => {
  const error = new NvmlError("nvmlDeviceGetName", 3);
  assert.deepEqual([error.message, error.call, error.status], [
    "Cannot call nvmlDeviceGetName: Not Supported (NVML_ERROR_NOT_SUPPORTED)",
    "nvmlDeviceGetName",
    3,
  ]);
});

test("attempt() takes a status and an implausible answer as data, and nothing else", () => {
  const failing = (error: Error) => () => {
    throw error;
  };
  assert.deepEqual(attempt(() => 5), known(5));
  assert.deepEqual(
    attempt(failing(new NvmlError("nvmlInit_v2", 4))),
    absent("no-permission", "nvmlInit_v2: Insufficient Permissions (NVML_ERROR_NO_PERMISSION)"),
  );
  assert.deepEqual(attempt(failing(new ImplausibleAnswer("no"))), absent("implausible", "no"));
  assert.throws(() => attempt(failing(new RangeError("a bug"))), new RangeError("a bug"));
});

test("believe() calls an answer implausible when our own rules refuse it", () => {
  assert.equal(believe(() => 5), 5);
  assert.throws(
    () =>
      believe(() => {
        throw new RangeError("too large");
      }),
    new ImplausibleAnswer("too large"),
  );
  assert.throws(
    () =>
      believe(() => {
        throw new TypeError("a bug");
      }),
    new TypeError("a bug"),
  );
});
