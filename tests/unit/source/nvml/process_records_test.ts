import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../../../lib/core/reading.ts";
import { bytes } from "../../../../lib/core/units.ts";
import { PROCESS_DETAIL, PROCESS_V1, PROCESS_V2 } from "../../../../lib/source/nvml/layouts.ts";
import {
  createRecordBuffer,
  decodeRecords,
  type RecordLayout,
  type RecordLimits,
} from "../../../../lib/source/nvml/process_records.ts";
import { ImplausibleAnswer } from "../../../../lib/source/nvml/status.ts";

const LIMITS: RecordLimits = { pidLimit: 32_768, memoryTotal: known(bytes(2 ** 30)) };

interface Written {
  readonly pid: number;
  readonly used: bigint;
  readonly gpuInstance?: number;
}

/** A buffer as a driver leaves it: each field written, the padding not. */
function writtenBy(layout: RecordLayout, records: readonly Written[]) {
  const buffer = createRecordBuffer(records.length + 4);
  records.forEach(({ pid, used, gpuInstance = 0xffff_ffff }, index) => {
    const at = index * layout.size;
    buffer.view.setUint32(at + layout.pid, pid, true);
    buffer.view.setBigUint64(at + layout.usedGpuMemory, used, true);
    if ("gpuInstanceId" in layout) {
      buffer.view.setUint32(at + layout.gpuInstanceId, gpuInstance, true);
      buffer.view.setUint32(at + layout.computeInstanceId, gpuInstance, true);
    }
    if ("usedGpuCcProtectedMemory" in layout) {
      buffer.view.setBigUint64(at + layout.usedGpuCcProtectedMemory, 0n, true);
    }
  });
  return buffer;
}

const TWO: readonly Written[] = [{ pid: 4, used: 1024n }, {
  pid: 5,
  used: 0xffff_ffff_ffff_ffffn,
  gpuInstance: 3,
}];

for (const [name, layout] of [["v2", PROCESS_V2], ["detail", PROCESS_DETAIL]] as const) {
  for (
    const [other, expected] of [["v1", PROCESS_V1], ["v2", PROCESS_V2], ["detail", PROCESS_DETAIL]] as const
  ) {
    test(`decodeRecords() reads ${name} records when ${other} ones were expected`, () => {
      const buffer = writtenBy(layout, TWO);
      assert.deepEqual(decodeRecords(buffer, { count: 2, expected, limits: LIMITS }), [
        { pid: 4, used: known(1024), gpuInstance: undefined, computeInstance: undefined },
        {
          pid: 5,
          used: absent("not-reported", "the driver gives no size for this process"),
          gpuInstance: 3,
          computeInstance: 3,
        },
      ]);
    });
  }
}

test("decodeRecords() reads the records of a library older than MIG", () => {
  const buffer = writtenBy(PROCESS_V1, TWO);
  assert.deepEqual(
    decodeRecords(buffer, { count: 2, expected: PROCESS_V2, limits: LIMITS }).map(({ pid }) => pid),
    [4, 5],
  );
});

test("decodeRecords() reads nothing from an untouched buffer when the count is 0", () => {
  assert.deepEqual(
    decodeRecords(createRecordBuffer(4), { count: 0, expected: PROCESS_V2, limits: LIMITS }),
    [],
  );
});

test("decodeRecords() refuses a count that what was written does not bear out", () => {
  assert.throws(
    () => decodeRecords(writtenBy(PROCESS_V2, TWO), { count: 5, expected: PROCESS_V2, limits: LIMITS }),
    new ImplausibleAnswer("the driver wrote 48 bytes for 5 processes, which no known record size explains"),
  );
});

test("decodeRecords() refuses a pid that this machine cannot have", () => {
  const buffer = writtenBy(PROCESS_V2, [{ pid: 32_768, used: 1n }]);
  assert.throws(
    () => decodeRecords(buffer, { count: 1, expected: PROCESS_V2, limits: LIMITS }),
    new ImplausibleAnswer("the driver lists a process 32768, and none can have that pid"),
  );
});

test("decodeRecords() refuses a size beyond 2^53 when the card's is not known", () => {
  const buffer = writtenBy(PROCESS_V2, [{ pid: 7, used: 2n ** 60n }]);
  const limits = { ...LIMITS, memoryTotal: absent("not-supported") };
  assert.throws(
    () => decodeRecords(buffer, { count: 1, expected: PROCESS_V2, limits }),
    new ImplausibleAnswer(
      "Cannot make a byte count as it must be a whole number from 0 to 2^53 - 1: current value is 1152921504606846976",
    ),
  );
});
