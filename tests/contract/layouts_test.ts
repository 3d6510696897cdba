import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import assert from "node:assert/strict";
import * as layouts from "../../lib/source/nvml/layouts.ts";
import { temporaryFolder } from "../support/temporary.ts";

test("layouts.ts has every struct as the C compiler lays it out", () => {
  using folder = temporaryFolder();
  const program = join(folder.path, "layouts");
  const source = fileURLToPath(new URL("./layouts.c", import.meta.url));
  execFileSync("cc", ["-std=c11", "-Wall", "-Wextra", "-Werror", "-o", program, source]);
  const printed = execFileSync(program, { encoding: "utf8" }).trimEnd().split("\n");
  const compiled = Object.fromEntries(printed.map((line) => {
    const [name = "", value] = line.split(" ");
    return [name, Number(value)];
  }));

  assert.deepEqual(
    {
      ...flatten("nvmlMemory_t", layouts.MEMORY_V1),
      ...flatten("nvmlMemory_v2_t", layouts.MEMORY_V2),
      ...flatten("nvmlProcessInfo_v1_t", layouts.PROCESS_V1),
      ...flatten("nvmlProcessInfo_v2_t", layouts.PROCESS_V2),
      ...flatten("nvmlProcessDetail_v1_t", layouts.PROCESS_DETAIL),
      ...flatten("nvmlPciInfo_t", layouts.PCI_INFO),
      ...flatten("nvmlGpuFabricInfo_t", layouts.FABRIC_V1),
      ...flatten("nvmlGpuFabricInfo_v2_t", layouts.FABRIC_V2),
      ...flatten("nvmlAccountingStats_t", layouts.ACCOUNTING_STATS),
      ...flatten("nvmlUtilization_t", layouts.UTILIZATION),
      ...flatten("nvmlFieldValue_t", layouts.FIELD_VALUE),
    },
    compiled,
  );
});

/** Names each number as layouts.c does. */
function flatten(struct: string, layout: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(layout).map(([name, value]) => [
      name === "size" ? struct : `${struct}.${name.replace(/Length$/, ".length")}`,
      value,
    ]),
  );
}
