import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known, mapReading } from "../../../lib/core/reading.ts";
import { openLibc } from "../../../lib/native/libc.ts";
import { readStdio } from "../../../lib/proc/stdio.ts";
import { findStat } from "../../../lib/proc/stat.ts";
import { openStage } from "../../support/actor.ts";
import { asNobody, NEEDS_ROOT } from "../../support/as_nobody.ts";
import { openProcessCalls } from "../../support/proc_calls.ts";
import { startProgram } from "../../support/running_program.ts";
import { until } from "../../support/until.ts";

test("readStdio() says where each descriptor leads, and which is closed", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  await using program = startProgram(["/bin/sh", "-c", "exec </dev/null 2>&-; echo ready; read x </dev/zero"]);
  await program.untilOutput(/^ready/m);
  const stdio = readStdio(String(program.pid), calls);
  assert.deepEqual(mapReading(stdio, ({ input, error }) => ({ input, error })), known({ input: "/dev/null", error: "closed" }));
});

test("readStdio() knows that a file or a closed output is no broken pipe", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  const script = 'sh -c "echo $$ >&2; kill -STOP $$" >$0';
  await using file = startProgram(["/bin/sh", "-c", "echo ready >&2; exec >/dev/full; read x"], {
    input: { isOpen: true },
  });
  await until("it to be ready", () => file.stderr.includes("ready"));
  await until("its output to be changed", () => {
    const stdio = readStdio(String(file.pid), calls);
    return stdio.ok && stdio.value.output === "/dev/full";
  });
  assert.deepEqual(script.length > 0, true);
  const stdio = readStdio(String(file.pid), calls);
  assert.deepEqual(mapReading(stdio, ({ isOutputBroken }) => isOutputBroken), known(known(false)));
});

test("readStdio() tells a pipe that nobody reads any more from one that somebody does", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  // The reader takes one line, and stays until it is told that the test has looked.
  const command = `sh -c 'echo pid $$ >&2; exec "${stage.program}"' | { read line; echo "$line"; read go </dev/tty; }`;
  assert.ok(command);
  await using program = startProgram(
    ["/bin/sh", "-c", `exec 3<&0; sh -c 'echo pid $$ >&2; exec "$0"' "$0" 3<&- | { read line; echo "$line"; read go <&3; }`, stage.program],
    { input: { isOpen: true } },
  );
  await program.untilOutput(/^ready$/m);
  const writer = Number(/^pid (\d+)$/m.exec(program.stderr)?.[1]);
  const isBroken = () => mapReading(readStdio(String(writer), calls), ({ isOutputBroken }) => isOutputBroken);
  assert.deepEqual(isBroken(), known(known(false)));
  program.type("\n");
  await until("its reader to leave", () => {
    const stdio = readStdio(String(writer), calls);
    return stdio.ok && stdio.value.isOutputBroken.ok && stdio.value.isOutputBroken.value;
  });
  assert.equal(findStat(`/proc/${writer}`)?.state, "S");
});

test("readStdio() may not look at another user's process", NEEDS_ROOT, async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  await using actor = await stage.start([]);
  const stdio = await asNobody(libc, () => readStdio(String(actor.pid), calls));
  assert.deepEqual({ ok: stdio.ok, why: !stdio.ok && stdio.why }, { ok: false, why: "no-permission" });
});

test("readStdio() cannot ask a dead main thread's pipe, and says so", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  await using actor = await stage.start(["end-main"]);
  const task = await until("another thread", () => {
    const threads = findStat(`/proc/${actor.pid}`)?.threads ?? 0;
    return threads > 1 && actor.pid + 1;
  });
  const stdio = readStdio(`${actor.pid}/task/${task}`, calls);
  assert.deepEqual(
    mapReading(stdio, ({ isOutputBroken }) => isOutputBroken),
    known(absent("failed", "pidfd_getfd(2) failed with errno 9")),
  );
});
