/** systemd's own checker of unit files. */
import { spawnSync } from "node:child_process";
import { temporaryFolder } from "./temporary.ts";

/** The first version that judges a unit file without a running systemd. */
const OFFLINE_SINCE = 250;

/** Options of a test that needs it: without it, or with an older one, the test is skipped and says so. */
export const NEEDS_ANALYZE = findVersion() >= OFFLINE_SINCE
  ? {}
  : { skip: `needs systemd-analyze ${OFFLINE_SINCE} or later` };

/** What `systemd-analyze verify` has to say of units, given by name and text; nothing of good ones. */
export function verifyUnits(units: Readonly<Record<string, string>>) {
  using folder = temporaryFolder();
  const paths = Object.entries(units).map(([name, text]) =>
    // It looks whether the program is there, which it need not be on this machine.
    folder.write(name, text.replace("=/usr/bin/gpuctl ", "=/bin/sh "))
  );
  return analyze("verify", "--man=no", ...paths);
}

/** How much a service could do if it were turned against the machine: 0 to 10, which is no restriction at all. */
export function readExposure(path: string): number {
  const { text } = analyze("security", "--offline=true", path);
  const [, score] = /Overall exposure level for \S+: ([\d.]+)/.exec(text) ?? [];
  if (score === undefined) throw new Error(`Cannot read a score: ${text}`);
  return Number(score);
}

function analyze(...words: readonly string[]) {
  const { stdout, stderr, status, error } = spawnSync("systemd-analyze", ["--no-pager", ...words], {
    encoding: "utf8",
  });
  if (error) throw error;
  return { status, text: `${stdout}${stderr}` };
}

function findVersion(): number {
  const { stdout } = spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" });
  return Number(/^systemd (\d+)/.exec(stdout ?? "")?.[1] ?? 0);
}
