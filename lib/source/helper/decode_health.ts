/** Makes the health of a GPU of what a helper sent, as `decode_report.ts` does the rest. */
import { parseBusId } from "../../core/ids.ts";
import {
  FABRIC_STATES,
  type FabricState,
  type GpuHealth,
  type RemappedRows,
  VIRTUALIZATION_MODES,
} from "../../model/gpu_health.ts";
import { decodePendingMode, decodeReading } from "./decode_reading.ts";
import {
  expectArray,
  expectBoolean,
  expectCount,
  expectNumber,
  expectOneOf,
  expectRecord,
  expectText,
  type JsonRecord,
} from "./expect.ts";

/** @throws {SyntaxError|RangeError} if any value is not what its type says. */
export function decodeHealth(health: JsonRecord): GpuHealth {
  return {
    ecc: decodeReading(health.ecc, "ecc", decodePendingMode),
    uncorrectedErrors: decodeReading(health.uncorrectedErrors, "uncorrectedErrors", expectCount),
    remappedRows: decodeReading(health.remappedRows, "remappedRows", decodeRemappedRows),
    hasRetirementPending: decodeReading(health.hasRetirementPending, "hasRetirementPending", expectBoolean),
    nvlinkPeers: decodeReading(
      health.nvlinkPeers,
      "nvlinkPeers",
      (value, name) => expectArray(value, name).map((peer) => parseBusId(expectText(peer, name))),
    ),
    hasNvSwitch: decodeReading(health.hasNvSwitch, "hasNvSwitch", expectBoolean),
    virtualization: decodeReading(
      health.virtualization,
      "virtualization",
      (value, name) => expectOneOf(value, name, VIRTUALIZATION_MODES),
    ),
    fabric: decodeReading(health.fabric, "fabric", decodeFabric),
    smClockMegahertz: decodeReading(health.smClockMegahertz, "smClockMegahertz", expectCount),
    architecture: decodeReading(health.architecture, "architecture", expectText),
  };
}

function decodeRemappedRows(value: unknown, name: string): RemappedRows {
  const rows = expectRecord(value, name);
  return {
    correctable: expectCount(rows.correctable, "correctable"),
    uncorrectable: expectCount(rows.uncorrectable, "uncorrectable"),
    isPending: expectBoolean(rows.isPending, "isPending"),
    hasFailed: expectBoolean(rows.hasFailed, "hasFailed"),
  };
}

function decodeFabric(value: unknown, name: string): FabricState {
  const fabric = expectRecord(value, name);
  return {
    state: expectOneOf(fabric.state, "state", FABRIC_STATES),
    status: expectNumber(fabric.status, "status"),
  };
}
