/** The parts that every report is made of: readings, and modes that take effect later. */
import { type Absent, absent, known, type Reading, WHYS } from "../../core/reading.ts";
import type { PendingMode } from "../../model/gpu_health.ts";
import { expectBoolean, expectOneOf, expectRecord, expectText, type JsonRecord } from "./expect.ts";

/** @throws {SyntaxError} if the value is no reading; whatever `decode` throws. */
export function decodeReading<T>(
  value: unknown,
  name: string,
  decode: (value: unknown, name: string) => T,
): Reading<T> {
  const reading = expectRecord(value, name);
  return expectBoolean(reading.ok, `${name}.ok`) ? known(decode(reading.value, name)) : decodeAbsent(reading);
}

/** @throws {SyntaxError} if the value gives no reason. */
export function decodeAbsent({ why, detail }: JsonRecord): Absent {
  return absent(
    expectOneOf(why, "why", WHYS),
    detail === undefined ? undefined : expectText(detail, "detail"),
  );
}

/** @throws {SyntaxError} if the value is no such mode. */
export function decodePendingMode(value: unknown, name: string): PendingMode {
  const mode = expectRecord(value, name);
  return { current: expectBoolean(mode.current, "current"), pending: expectBoolean(mode.pending, "pending") };
}
