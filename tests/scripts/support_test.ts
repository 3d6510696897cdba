/** The tests' own tools: a victim that outlives its test, or a wait that never ends, would spoil every other test. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";
import { pid } from "../../lib/core/ids.ts";
import type { ProcessIdentity } from "../../lib/model/process.ts";
import { runProgram, startProgram } from "../support/running_program.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { startOnTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { findIdentity, isRunning, startVictim, STUBBORN } from "../support/victim.ts";

test("runProgram() gives status and both streams, in a scrubbed environment", async () => {
  process.env["OF_THE_TESTER"] = "leaked";
  const script = 'cat; echo "$TZ $LC_ALL $GIVEN ${OF_THE_TESTER-scrubbed}"; echo bad >&2; exit 7';
  const ended = await runProgram(["/bin/sh", "-c", script], { input: "typed\n", env: { GIVEN: "given" } });
  delete process.env["OF_THE_TESTER"];

  assert.deepEqual(ended, {
    status: 7,
    signal: null,
    stdout: "typed\nUTC C given scrubbed\n",
    stderr: "bad\n",
  });
});

test("runProgram() ends what does not end by itself", async () => {
  await assert.rejects(
    runProgram(["/bin/sh", "-c", "echo begun; sleep 60"], { within: 200 }),
    { message: "/bin/sh -c echo begun; sleep 60 did not end within 200 ms\nbegun\n" },
  );
});

test("startProgram() throws when the program is not there", () => {
  assert.throws(() => startProgram(["/no/such/program"]), {
    message: "Cannot start /no/such/program: is it there?",
  });
});

test("startVictim() ends with its escaped children", async () => {
  let escaped: ProcessIdentity | undefined;
  {
    await using victim = await startVictim("setsid sh -c 'echo child $$; sleep 60' & echo ready; wait");
    const [, child] = await victim.untilOutput(/^child (\d+)$/m);
    escaped = findIdentity(Number(child));
    assert.notEqual(escaped, undefined);
    assert.equal(isRunning(victim.identity), true);
  }
  assert.equal(escaped && isRunning(escaped), false);
});

test("startVictim() with STUBBORN survives SIGTERM", async () => {
  await using victim = await startVictim(`${STUBBORN.replace("done", "echo beat; done")}`);
  victim.send("SIGTERM");
  await victim.untilOutput(/beat\n.*beat\n/s);
  assert.equal(isRunning(victim.identity), true);
});

test("startVictim() says what a script printed that never got ready", async () => {
  await assert.rejects(startVictim("echo oops >&2; exit 3"), {
    message: "/bin/sh -c echo oops >&2; exit 3 ended early\noops\n",
  });
});

test("isRunning() tells another process under the same pid apart", async () => {
  await using victim = await startVictim();
  const later = { ...victim.identity, pid: pid(1) };
  assert.equal(isRunning(later), false);
});

test("startOnTerminal() gives a terminal of that size, and Ctrl-C", async () => {
  await using shell = startOnTerminal(
    [
      "/bin/sh",
      "-c",
      "trap 'echo interrupted; exit 5' INT; test -t 1 && stty size; while :; do sleep 0.05; done",
    ],
    { columns: 91, rows: 17 },
  );
  await shell.untilOutput(/17 91/);
  shell.type("\x03");
  assert.equal((await shell.ended).status, 5);
  assert.match(shell.stdout, /interrupted\r\n/);
});

test("until() says what it waited for", async () => {
  await assert.rejects(until("rain", () => false, { within: 30 }), {
    message: "waited for rain: not so within 30 ms",
  });
  assert.equal(await until("sun", () => "sun"), "sun");
});

test("temporaryFolder() removes itself", () => {
  let path = "";
  {
    using folder = temporaryFolder();
    path = folder.write("a/b.txt", "text");
    assert.equal(existsSync(path), true);
  }
  assert.equal(existsSync(path), false);
});
