/** How long saved files take, and what the hostile ones among them cost. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { temporaryFolder } from "../../tests/support/temporary.ts";
import { type Contestant, median, type Result } from "./race.ts";
import { HOSTILE_TEXTS, largeXml } from "./saved_texts.ts";
import type { Finding, Stage, Suite } from "./suites.ts";

/** What nvidia-smi -q -x prints of 16 GPUs: 1 MiB with 180 processes on each, 2.5 MiB with 500. */
const LARGE = [180, 500].map((processes) => ({ name: `16 GPUs x ${processes} processes`, processes }));
/** Refused: unavailable. */
const REFUSED = [3];

/** A snapshot of the largest machine's nvidia-smi -q -x, and of files that have to be refused. */
export function setRead(stage: Stage, gpuctl: string): Promise<Suite> {
  const folder = stage.use(temporaryFolder());
  const read = (path: string): Contestant["command"] => [gpuctl, "snapshot", "--json", "--source", path];
  const hostile = Object.entries(HOSTILE_TEXTS).map(([name, write], place): Contestant => ({
    name,
    command: read(folder.write(String(place), write())),
    statuses: REFUSED,
  }));
  const large = LARGE.map(({ name, processes }): Contestant => ({
    name,
    command: [gpuctl, "snapshot", "--source", folder.write(`${processes}.xml`, largeXml(16, processes))],
  }));
  const fifo = join(folder.path, "fifo");
  spawnSync("mkfifo", [fifo]);
  const endless: Contestant = {
    name: "a pipe without an end",
    command: ["/bin/sh", "-c", `yes > '${fifo}' & exec "$0" "$@"`, ...read(fifo)],
    statuses: REFUSED,
  };
  const zero: Contestant = { name: "/dev/zero", command: read("/dev/zero"), statuses: REFUSED };
  const refused = [...hostile, zero, endless];
  return Promise.resolve({
    rounds: 15,
    contestants: [...large, ...refused],
    judge: (
      results,
    ) => [
      ...large.map(({ name }) => wall(results, name, 150)),
      ...refused.flatMap(({ name }) => costs(results, name)),
    ],
  });
}

function costs(results: ReadonlyMap<string, Result>, name: string): Finding[] {
  const peaks = results.get(name)?.runs.map(({ peakKiB }) => peakKiB / 1024) ?? [];
  return [
    wall(results, name, 2000),
    { what: `${name}, peak`, value: Math.max(...peaks), unit: "MiB", atMost: 600 },
  ];
}

function wall(results: ReadonlyMap<string, Result>, name: string, atMost: number): Finding {
  const times = results.get(name)?.runs.map(({ wallMs }) => wallMs) ?? [];
  return { what: name, value: median(times), unit: "ms", atMost };
}
