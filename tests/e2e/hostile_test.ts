/** What a careless or hostile user and administrator do to the program. */
import assert from "node:assert/strict";
import { chownSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { SnapshotJson } from "../../lib/model/schema/snapshot.ts";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { gpuctlCommand, runGpuctl, startGpuctl } from "../support/binary.ts";
import { holdAtRest } from "../support/cleaning.ts";
import { parseDocument, parseDocumentLines } from "../support/documents.ts";
import { runProgram } from "../support/running_program.ts";
import { startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";

const NOBODY = 65_534;

test("demo tours from a leak to a clean server", async () => {
  const { status, stdout } = await runGpuctl(["demo"], { within: 30_000 });

  assert.equal(status, 0);
  assert.match(stdout, /# All clear\.\n(?:.*\n)*.*0 B of 160 GiB in use on 2 GPUs/);
});

test("snapshot takes a simulated server's relative path, through a link too", async () => {
  await using server = await startSim({ gpus: 1 });
  const cwd = join(server.folder, "..");
  symlinkSync("server", join(cwd, "link"));
  await server.hold();
  for (const source of ["sim:server", "sim:link", "sim:./server/"]) {
    const { status, stdout } = await runGpuctl(["snapshot", "--json", "--source", source], { cwd });
    const { driver, holders } = parseDocument<SnapshotJson>(stdout);

    assert.notEqual(driver, null, source);
    assert.deepEqual([status, holders.length], [0, 1], source);
  }
});

test("snapshot and diff write on the descriptors that a path names", async () => {
  await using server = await startSim({ gpus: 1 });
  const gpuctl = gpuctlCommand().join(" ");
  const script = [
    `${gpuctl} snapshot --json -o /dev/fd/1; echo end`,
    `${gpuctl} diff --settle 100ms --json --record /dev/fd/3 -o /dev/fd/4 -- true 3>samples 4>report`,
  ].join("\n");
  const { status, stdout } = await runProgram(["sh", "-c", `{ ${script}\n} > all; cat all`], {
    env: server.env,
    cwd: server.folder,
  });

  assert.equal(status, 0);
  assert.match(stdout, /^\{\n {2}"schema": "gpuctl\.snapshot\/1"[^]*\}\nend\n$/);
  const [head] = parseDocumentLines<{ schema: string }>(
    readFileSync(join(server.folder, "samples"), "utf8"),
  );
  const report = parseDocument<{ schema: string }>(readFileSync(join(server.folder, "report"), "utf8"));
  assert.deepEqual([head?.schema, report.schema], ["gpuctl.samples/1", "gpuctl.diff/1"]);
});

test(
  "clean-zombies ends nothing that it would record in a pipe or in somebody else's file",
  NEEDS_ROOT,
  async () => {
    await using server = await startSim({ gpus: 1 });
    const { readyPid } = await holdAtRest(server, { scene: "forked-child" });
    const folder = join(server.folder, "..");
    const [foreign, pipe] = [join(folder, "foreign"), join(folder, "pipe")];
    writeFileSync(foreign, "");
    chownSync(foreign, NOBODY, NOBODY);
    await runProgram(["mkfifo", pipe]);
    const complaints = [];
    for (const path of [foreign, pipe]) {
      const words = ["clean-zombies", "--yes", "--min-age", "0s", "--confirm", "100ms", "--audit-log", path];
      const { status, stderr } = await server.run(words);
      complaints.push([status, stderr.split("\n")[0]]);
    }

    assert.deepEqual(complaints, [
      [5, `gpuctl: Cannot record in ${foreign}: it belongs to somebody else`],
      [5, `gpuctl: Cannot record in ${pipe}: nothing reads from it`],
    ]);
    assert.ok(existsSync(`/proc/${readyPid}`));
  },
);

test("clean-zombies refuses a choice by nothing, as an unset variable leaves it", async () => {
  await using server = await startSim({ gpus: 1 });
  for (const option of ["class", "pid", "user", "container", "slurm-job", "unit", "cgroup"]) {
    const { status, stderr } = await server.run(["clean-zombies", `--${option}`, ""]);

    assert.equal(status, 2, option);
    assert.match(stderr, /Cannot choose by (?:"": it names nothing|an empty name)\n {2}hint: /, option);
  }
});

test("sim init says what is wrong with a place, and makes nothing in one without a name", async () => {
  using folder = temporaryFolder();
  const file = folder.write("file", "");

  assert.deepEqual(await complaintOf(["sim", "init", file]), [
    3,
    `gpuctl: Cannot make a simulated server in ${file}: its path leads through something that is no directory\n`,
  ]);
  assert.deepEqual(await complaintOf(["sim", "init", ""]), [
    2,
    "gpuctl: Cannot make a simulated server in a directory without a name\n" +
    "  hint: gpuctl sim init --help says what it takes\n",
  ]);
});

test("demo removes its server when a signal ends it", async () => {
  using folder = temporaryFolder();
  await using demo = startGpuctl(["demo"], { env: { TMPDIR: folder.path } });
  await demo.untilOutput(/^# A job that behaves/m);
  demo.send("SIGTERM");

  assert.equal((await demo.ended).status, 3);
  assert.deepEqual(readdirSync(folder.path), []);
});

test("snapshot takes a deadline that is longer than a timer counts", async () => {
  await using server = await startSim({ gpus: 1 });
  const { status, stderr } = await server.run(["snapshot", "--deadline", "30d"]);

  assert.deepEqual([status, stderr], [0, ""]);
});

test("demo says that it has no place for its server", async () => {
  assert.deepEqual(await complaintOf(["demo"], { TMPDIR: "/dev/null" }), [
    3,
    "gpuctl: Cannot make a folder in /dev/null: its path leads through something that is no directory\n  hint: TMPDIR names another place\n",
  ]);
});

async function complaintOf(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<readonly [number | null, string]> {
  const { status, stderr } = await runGpuctl(words, { env });
  return [status, stderr];
}
