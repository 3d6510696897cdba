import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A folder that lasts as long as its block: `using folder = temporaryFolder();`. */
export interface TemporaryFolder extends Disposable {
  readonly path: string;
  /** Writes a file in it, with the folders that lead there, and gives its path. */
  write(name: string, content: string | Uint8Array): string;
}

/** Makes an empty folder that nobody else uses. */
export function temporaryFolder(): TemporaryFolder {
  const folder = mkdtempSync(join(tmpdir(), "gpuctl-"));
  return {
    path: folder,
    write(name, content) {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
