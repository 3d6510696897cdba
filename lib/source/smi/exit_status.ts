import { type Absent, absent } from "../../core/reading.ts";
import { explainStatus } from "../../model/smi_status.ts";

/** What an ended run of nvidia-smi says by its status alone; `undefined` for success. */
export function describeStatus(
  { status, signal }: { readonly status: number | undefined; readonly signal: string | undefined },
): Absent | undefined {
  if (signal !== undefined) return absent("failed", `nvidia-smi was ended by ${signal}`);
  if (status === undefined || status === 0) return undefined;
  const { why, meaning } = explainStatus(status);
  return absent(why, `nvidia-smi ended with status ${status}: ${meaning}`);
}
