import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { milliseconds } from "../../../lib/core/units.ts";
import { runShell } from "../../../lib/world/run_shell.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const SPAN = milliseconds(10_000);

function run(line: string, variables: Readonly<Record<string, string>> = {}, span = SPAN) {
  return runShell(line, { variables, span });
}

test("runShell() gives the line to a shell, with variables that are never part of it", async () => {
  const enemy = "'; echo owned; \"$(echo owned)\n";
  assert.deepEqual(await run('printf "%s" "$FACT"; echo . >&2', { FACT: enemy }), {
    end: { kind: "exited", status: 0 },
    output: `${enemy}.\n`,
  });
});

test("runShell() tells the status, and the signal", async () => {
  assert.deepEqual(await run("exit 3"), { end: { kind: "exited", status: 3 }, output: "" });
  assert.deepEqual((await run("kill -9 $$")).end, { kind: "killed", signal: "SIGKILL" });
});

test("runShell() gives an empty input and a session of its own", async () => {
  const { output } = await run("cat; cut -d' ' -f1,6 /proc/$$/stat");
  const [pid, session] = output.trim().split(" ");
  assert.equal(pid, session);
});

test("runShell() keeps the end of what is written, whatever is written", async () => {
  const { end, output } = await run("head -c 3000000 /dev/zero; echo last");
  assert.deepEqual([end, output.length, output.endsWith("last\n")], [
    { kind: "exited", status: 0 },
    4096,
    true,
  ]);
});

test("runShell() ends a command that takes too long, with what it has started", async () => {
  using folder = temporaryFolder();
  const file = `${folder.path}/pid`;
  const { end } = await run(`sleep 60 & echo $! >'${file}'; wait`, {}, milliseconds(300));
  assert.deepEqual(end, { kind: "timed-out" });
  const child = Number(readFileSync(file, "utf8"));
  await until("the child to end", () => {
    try {
      return / Z /.test(readFileSync(`/proc/${child}/stat`, "utf8"));
    } catch {
      return true; // It has been collected already.
    }
  });
});

test("runShell() asks a command to end before it makes it", async () => {
  const run = await runShell("trap 'echo asked; exit' TERM; while :; do sleep 0.05; done", {
    variables: {},
    span: milliseconds(300),
  });
  assert.deepEqual(run.end, { kind: "timed-out" });
  assert.match(run.output, /^asked$/m);
});

test("runShell() does not wait for what a command leaves in the background", async () => {
  const startedAt = performance.now();
  const { end } = await run("sleep 3 & exit 0");
  assert.deepEqual([end, performance.now() - startedAt < 2500], [{ kind: "exited", status: 0 }, true]);
});

test("runShell() says why a command cannot be started", async () => {
  const { end } = await run("true", { HUGE: "x".repeat(3_000_000) });
  assert.equal(end.kind, "not-started");
});
