/** Where the repository and its pinned tools are. */
import { execPath } from "node:process";
import { fileURLToPath } from "node:url";

/** The repository's root, with a slash at its end. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** The Deno that runs this script, so that every step uses the one version that was asked for. */
export const DENO = execPath;

/** The processors that gpuctl is built for, as Bun's packages and its `--target` name them. */
export const TARGETS = {
  x64: { bun: "node_modules/@oven/bun-linux-x64/bin/bun", target: "bun-linux-x64" },
  arm64: { bun: "node_modules/@oven/bun-linux-aarch64/bin/bun", target: "bun-linux-arm64" },
} as const;
export type Processor = keyof typeof TARGETS;

/** The processor under us. @throws {Error} if gpuctl is not built for it. */
export function ownProcessor(): Processor {
  const { arch, os } = Deno.build;
  if (os !== "linux") throw new Error(`Cannot build gpuctl on ${os}: it needs Linux`);
  return arch === "aarch64" ? "arm64" : "x64";
}

/** The pinned Bun for this machine, from the root. It comes from the lockfile, never from PATH. */
export function ownBun(): string {
  return TARGETS[ownProcessor()].bun;
}
