import { encodeSnapshot } from "../model/encode.ts";
import type { Snapshot } from "../model/snapshot.ts";
import { renderJson } from "./json.ts";

/** Writes a snapshot as the JSON that scripts rely on, `gpuctl.snapshot/1`. */
export function renderSnapshotJson(snapshot: Snapshot): string {
  return renderJson(encodeSnapshot(snapshot));
}
