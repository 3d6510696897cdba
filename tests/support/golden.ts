import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("../golden/", import.meta.url);

/**
 * Compares a text, byte for byte, with the one kept as tests/golden/NAME. `deno task golden` rewrites what is kept; the
 * difference is then for a person to read.
 */
export function assertGolden(name: string, actual: string): void {
  const path = fileURLToPath(new URL(name, FOLDER));
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(dirname(path), { recursive: true });
    // Whole at every moment: other tests may read it just now.
    writeFileSync(`${path}.${process.pid}`, actual);
    renameSync(`${path}.${process.pid}`, path);
    return;
  }
  if (!existsSync(path)) assert.fail(`tests/golden/${name} does not exist: "deno task golden" writes it`);
  assert.equal(actual, readFileSync(path, "utf8"), `differs from tests/golden/${name}`);
}
