import assert from "node:assert/strict";
import { chmodSync, readFileSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";
import { milliseconds } from "../../../lib/core/units.ts";
import { runTool } from "../../../lib/world/run_tool.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const LONG = { span: milliseconds(20_000) };

/** Runs a line of the shell. */
function runShell(
  line: string,
  options: Parameters<typeof runTool>[1] = LONG,
  words: readonly string[] = [],
) {
  return runTool(["/bin/sh", "-c", line, "sh", ...words], options);
}

function ended(status: number, text: string) {
  return { kind: "ended", status, signal: undefined, text };
}

test("runTool() gives the status and both streams in the order in which they were written", async () => {
  assert.deepEqual(
    await runShell("echo one; echo two >&2; echo three; exit 7"),
    ended(7, "one\ntwo\nthree\n"),
  );
});

test("runTool() passes words as they are, to no shell", async () => {
  const words = ["a b", "$HOME", "'\"\\", "-i", "*\n"];
  assert.deepEqual(
    await runShell('printf "%s|" "$@"', LONG, words),
    ended(0, words.map((each) => `${each}|`).join("")),
  );
});

test("runTool() gives a program nothing to read, the root directory and an environment of its own", async () => {
  const environment = { LD_LIBRARY_PATH: "/opt/lib" };
  assert.deepEqual(
    await runShell("cat; pwd; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | sort", {
      ...LONG,
      environment,
    }),
    ended(0, "/\nLC_ALL=C\nLD_LIBRARY_PATH=/opt/lib\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\nTZ=UTC\n"),
  );
});

test("runTool() has a program write into a file without a name, which no pipe of ours can break", async () => {
  const { text } = await endedOf(
    runShell("for each in /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2; do readlink $each; done"),
  );
  const targets = text.trimEnd().split("\n");
  assert.deepEqual(targets.map((target) => target.replace(/\/gpuctl-\w+\//, "/gpuctl/")), [
    "/dev/null",
    "/tmp/gpuctl/output (deleted)",
    "/tmp/gpuctl/output (deleted)",
  ]);
});

test("runTool() gives a program a session of its own", async () => {
  const { text } = await endedOf(runShell("echo $$; cut -d ' ' -f 5,6 /proc/$$/stat"));
  const [pid, ids] = text.trimEnd().split("\n");
  assert.equal(ids, `${pid} ${pid}`);
});

test("runTool() tells of a program that was ended by a signal", async () => {
  assert.deepEqual(await runShell("echo half; kill -9 $$"), {
    kind: "ended",
    status: undefined,
    signal: "SIGKILL",
    text: "half\n",
  });
});

test("runTool() tells of a program that cannot be started", async () => {
  using folder = temporaryFolder();
  for (const path of [`${folder.path}/none`, folder.write("no-program", "")]) {
    const run = await runTool([path], LONG);
    assert.equal(run.kind, "not-started");
    assert.match(run.kind === "not-started" ? run.message : "", /ENOENT|EACCES|not found|denied/i);
  }
});

test("runTool() tells of a program with a broken interpreter", async () => {
  using folder = temporaryFolder();
  const path = folder.write("broken", "#!/nonexistent/sh\n");
  chmodSync(path, 0o755);
  assert.equal((await runTool([path], LONG)).kind, "not-started");
});

test("runTool() shows bytes that are no text as such", async () => {
  assert.deepEqual(await runShell("printf 'a\\377\\376b\\n'"), ended(0, "a\ufffd\ufffdb\n"));
});

test("runTool() does not keep more than an answer can be", async () => {
  assert.deepEqual(await runShell("head -c 1048577 /dev/zero"), { kind: "too-long" });
  const run = await endedOf(runShell("head -c 1048576 /dev/zero | tr '\\0' x"));
  assert.equal(run.text.length, 1_048_576);
});

test("runTool() leaves a program that is late to its work, which goes on writing", async () => {
  using folder = temporaryFolder();
  const line =
    `trap 'echo signal > ${folder.path}/signal' TERM INT HUP PIPE; while [ ! -e ${folder.path}/go ]; do ` +
    `sleep 0.02; done; echo late && echo well > ${folder.path}/end`;
  const run = await runShell(line, { span: milliseconds(200) });
  assert.equal(run.kind, "timed-out");
  assert.equal(run.kind === "timed-out" && run.pid !== undefined && process.kill(run.pid, 0), true);

  folder.write("go", "");
  assert.equal(await until("the program to end", () => readOrNothing(`${folder.path}/end`)), "well\n");
  assert.equal(readOrNothing(`${folder.path}/signal`), undefined);
});

async function endedOf(running: ReturnType<typeof runTool>) {
  const run = await running;
  return run.kind === "ended" ? run : assert.fail(`it is ${run.kind}`);
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8") || undefined;
  } catch {
    return undefined; // It is not there yet.
  }
}
