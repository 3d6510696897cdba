import { test } from "node:test";
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { absent, known, mapReading, type Reading } from "../../../lib/core/reading.ts";
import { openLibc } from "../../../lib/native/libc.ts";
import { readStdio, type StdioCalls } from "../../../lib/proc/stdio.ts";
import { openStage } from "../../support/actor.ts";
import { asNobody, NEEDS_ROOT } from "../../support/as_nobody.ts";
import { openProcessCalls } from "../../support/proc_calls.ts";
import { type RunningProgram, startProgram } from "../../support/running_program.ts";
import { until } from "../../support/until.ts";

const isBroken = (place: string, calls: StdioCalls): Reading<Reading<boolean>> =>
  mapReading(readStdio(place, calls), ({ isOutputBroken }) => isOutputBroken);

/** Starts an actor at the head of a shell's pipeline, and gives its pid. */
async function startPipeline(
  program: string,
  acts: string,
  reader: string,
): Promise<RunningProgram & { writer: number }> {
  const script = `exec 3<&0; sh -c 'echo pid $$ >&2; exec "$0" ${acts}' "$0" 3<&- | ${reader}`;
  const pipeline = startProgram(["/bin/sh", "-c", script, program], { input: { isOpen: true } });
  await pipeline.untilOutput(/^ready$/m);
  return Object.assign(pipeline, { writer: Number(/^pid (\d+)$/m.exec(pipeline.stderr)?.[1]) });
}

test("readStdio() says where each descriptor leads, and which is closed", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  const script = "exec </dev/null >/dev/full 2>&-; kill -STOP $$";
  await using program = startProgram(["/bin/sh", "-c", script]);
  const expected = known({
    input: "/dev/null",
    output: "/dev/full",
    error: "closed",
    isOutputBroken: known(false),
  });
  const stdio = await until("its descriptors to be in place", () => {
    const stdio = readStdio(String(program.pid), calls);
    return stdio.ok && stdio.value.error === "closed" && stdio;
  });
  assert.deepEqual(stdio, expected);
});

test("readStdio() tells a pipe that nobody reads any more from one that somebody does", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  // The reader stays until it is told to go.
  const reader = '{ read line; echo "$line"; read go <&3; }';
  await using pipeline = await startPipeline(stage.program, "", reader);
  const writer = String(pipeline.writer);
  assert.deepEqual(isBroken(writer, calls), known(known(false)));
  pipeline.type("\n");
  await until("the reader to go", () => {
    const broken = isBroken(writer, calls);
    return broken.ok && broken.value.ok && broken.value.value;
  });
});

test("readStdio() cannot copy a descriptor of a dead main thread, and says so", async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  await using pipeline = await startPipeline(stage.program, "end-main", "cat");
  const { writer } = pipeline;
  const task = readdirSync(`/proc/${writer}/task`).find((id) => id !== String(writer));
  assert.deepEqual(
    isBroken(`${writer}/task/${task}`, calls),
    known(absent("not-supported", "a dead main thread has no descriptors to copy")),
  );
});

test("readStdio() may not look at another user's process", NEEDS_ROOT, async () => {
  using libc = await openLibc();
  using calls = openProcessCalls(libc);
  using stage = openStage();
  await using actor = await stage.start([]);
  const stdio = await asNobody(libc, () => readStdio(String(actor.pid), calls));
  const path = `/proc/${actor.pid}/fd/1`;
  assert.deepEqual(stdio, absent("no-permission", `EACCES: permission denied, readlink '${path}'`));
});
