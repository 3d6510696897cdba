/** Real helper processes: what comes of each way in which one can fail. */
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../lib/core/reading.ts";
import { percent } from "../../lib/core/units.ts";
import { openHelper } from "../../lib/source/helper/open_helper.ts";
import { DRIVER, idleGpu, reportOf, SOUND_HEALTH } from "../support/driver_reports.ts";
import { helperOptions, supportCommand, within } from "../support/helpers.ts";
import { buildStub, SCENARIO_VARIABLE, type Stub, writeScenario } from "../support/nvml_stub.ts";
import { startProgram } from "../support/running_program.ts";
import { until } from "../support/until.ts";

/** More than a busy machine needs to start a helper. */
const PATIENCE = 20_000;

let stub: Stub;
before(() => stub = buildStub());
after(() => stub[Symbol.dispose]());

/** Options whose helper reads the stand-in. */
function nvmlOptions() {
  const command = [
    "/usr/bin/env",
    `${SCENARIO_VARIABLE}=${stub.scenario}`,
    ...supportCommand("helper_program.ts"),
  ];
  return helperOptions({ command, request: { source: "nvml", library: stub.library } });
}

/** Options whose helper is a shell script instead. */
function scriptOptions(script: string) {
  return helperOptions({ command: ["/bin/sh", "-c", script] });
}

function isRunning(pid: number | undefined): boolean {
  if (pid === undefined || !existsSync(`/proc/${pid}/stat`)) return false;
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false; // It went between the two looks.
  }
}

test("openHelper() gives the driver's report, again and again, from one process", async () => {
  await using helper = openHelper(nvmlOptions());
  const { pid } = helper;
  writeScenario(stub, { gpus: [{}, {}] });
  assert.deepEqual(await helper.sample(within(PATIENCE)), reportOf(idleGpu(0), idleGpu(1)));
  assert.equal(readFileSync(`/proc/${pid}/comm`, "utf8"), "gpuctl-helper\n");

  writeScenario(stub, { gpus: [{ utilization: 12 }] });
  assert.deepEqual(
    await helper.sample({ ...within(PATIENCE), withUtilization: true }),
    reportOf(idleGpu(0, { utilization: known(percent(12)) })),
  );
  assert.equal(helper.pid, pid);
});

test("openHelper() gives the health of the GPUs to the question that asks for it, and to no other", async () => {
  await using helper = openHelper(nvmlOptions());
  writeScenario(stub, { gpus: [{ health: { remappedRows: [0, 1, 1, 0], links: { 0: { end: 2 } } } }] });
  assert.deepEqual(await helper.sample(within(PATIENCE)), reportOf(idleGpu(0)));
  assert.deepEqual(
    await helper.sample({ ...within(PATIENCE), withHealth: true }),
    reportOf(idleGpu(0, {
      health: {
        ...SOUND_HEALTH,
        remappedRows: known({ correctable: 0, uncorrectable: 1, isPending: true, hasFailed: false }),
        hasNvSwitch: known(true),
      },
    })),
  );
  assert.deepEqual(await helper.sample(within(PATIENCE)), reportOf(idleGpu(0)));
});

test("openHelper() answers questions in the order in which they were asked", async () => {
  await using helper = openHelper(nvmlOptions());
  writeScenario(stub, { gpus: [{ utilization: 12 }] });
  const [plain, asked] = await Promise.all([
    helper.sample(within(PATIENCE)),
    helper.sample({ ...within(PATIENCE), withUtilization: true }),
  ]);
  assert.deepEqual(plain, reportOf(idleGpu(0)));
  assert.deepEqual(asked, reportOf(idleGpu(0, { utilization: known(percent(12)) })));
});

test("openHelper() says what the helper's source could not do, and lets it try again", async () => {
  await using helper = openHelper(nvmlOptions());
  writeScenario(stub, { gpus: [{}], fail: { nvmlInitWithFlags: 9 } });
  assert.deepEqual(
    await helper.sample(within(PATIENCE)),
    absent("not-supported", "nvmlInitWithFlags: Driver Not Loaded (NVML_ERROR_DRIVER_NOT_LOADED)"),
  );
  writeScenario(stub, { gpus: [{}] });
  assert.deepEqual(await helper.sample(within(PATIENCE)), reportOf(idleGpu(0)));
});

test("openHelper() gives up at the deadline on a driver call that never returns, and ends the helper", async () => {
  await using helper = openHelper(nvmlOptions());
  const { pid } = helper;
  writeScenario(stub, { gpus: [{ hang: ["nvmlDeviceGetHandleByIndex_v2"] }] });
  const started = performance.now();
  assert.deepEqual(
    await helper.sample(within(300)),
    absent("timed-out", "the driver gave no answer within 300 ms"),
  );
  assert.ok(performance.now() - started < 5000);
  assert.equal(isRunning(pid), false);

  writeScenario(stub, { gpus: [{}] });
  assert.deepEqual(await helper.sample(within(PATIENCE)), reportOf(idleGpu(0)));
  assert.notEqual(helper.pid, pid);
});

for (
  const [what, script, expected] of [
    [
      "was ended by a signal",
      "kill -SEGV $$",
      absent("failed", "the helper process was ended by SIGSEGV without an answer"),
    ],
    [
      "ended with a status",
      "exit 3",
      absent("failed", "the helper process ended with status 3 without an answer"),
    ],
    [
      "ended in the middle of its answer",
      "printf '{\"proto'; exit 0",
      absent("failed", "the helper process ended with status 0 without an answer"),
    ],
    [
      "speaks another protocol",
      `echo '{"protocol":"gpuctl.helper/0","id":1}'; exec sleep 60`,
      absent(
        "implausible",
        "the helper process gave no answer that can be read:" +
          ' Cannot take "gpuctl.helper/0" for protocol: expected one of gpuctl.helper/1',
      ),
    ],
    [
      "answers another question",
      `echo '{"protocol":"gpuctl.helper/1","id":7,"report":{"ok":false,"why":"lost"}}'; exec sleep 60`,
      absent(
        "implausible",
        "the helper process gave no answer that can be read: it answers question 7 when 1 was asked",
      ),
    ],
    [
      "answers twice",
      `printf '%s\\n' '{"protocol":"gpuctl.helper/1","id":1,"report":{"ok":false,"why":"lost"}}' more; exec sleep 60`,
      absent(
        "implausible",
        "the helper process gave no answer that can be read: Cannot take the answer: it has more than one line",
      ),
    ],
    [
      "writes without end",
      "exec cat /dev/zero",
      absent(
        "implausible",
        "the helper process gave no answer that can be read: Cannot take the answer: it is longer than 16 MiB",
      ),
    ],
  ] as const
) {
  test(`openHelper() says so when the helper ${what}`, async () => {
    await using helper = openHelper(scriptOptions(script));
    const { pid } = helper;
    assert.deepEqual(await helper.sample(within(PATIENCE)), expected);
    await until("the helper to be gone", () => !isRunning(pid));
  });
}

test("openHelper() says that a helper cannot be started", async () => {
  await using helper = openHelper(helperOptions({ command: ["/nonexistent/gpuctl"] }));
  const sample = await helper.sample(within(PATIENCE));
  assert.ok(!sample.ok);
  // The words after it are the runtime's.
  assert.deepEqual([sample.why, sample.detail?.startsWith("the helper process cannot be started: ")], [
    "failed",
    true,
  ]);
});

test("serveHelper() tells a bug of its source where it will be read, and goes on", async () => {
  const bug = absent("failed", "bug in the helper process: no such property of /srv/sim");
  await using helper = openHelper(helperOptions({ request: { source: "sim", directory: "/srv/sim" } }));
  const { pid } = helper;
  assert.deepEqual(await helper.sample(within(PATIENCE)), bug);
  assert.deepEqual(await helper.sample(within(PATIENCE)), bug);
  assert.equal(helper.pid, pid);
});

test("openHelper() ends its helper when it is disposed of, also in the middle of a call", async () => {
  writeScenario(stub, { gpus: [{ hang: ["nvmlDeviceGetHandleByIndex_v2"] }] });
  const helper = openHelper(nvmlOptions());
  const { pid } = helper;
  const sample = helper.sample(within(PATIENCE));
  await helper[Symbol.asyncDispose]();
  assert.equal(isRunning(pid), false);
  assert.deepEqual(
    await sample,
    absent("failed", "the helper process was ended by SIGKILL without an answer"),
  );
  assert.deepEqual(
    await helper.sample(within(PATIENCE)),
    absent("failed", "the helper process has been closed"),
  );
});

test("openHelper() ends its helper soon after it is left", async () => {
  writeScenario(stub, { gpus: [{}] });
  const helper = openHelper(nvmlOptions());
  const { pid } = helper;
  assert.deepEqual(await helper.sample(within(PATIENCE)), reportOf(idleGpu(0)));
  helper.leave();
  assert.deepEqual(
    await helper.sample(within(PATIENCE)),
    absent("failed", "the helper process has been closed"),
  );
  await until("the helper to be gone", () => !isRunning(pid));
});

test("serveHelper() ends with the program that started it, also in the middle of a call", async () => {
  writeScenario(stub, { gpus: [{ hang: ["nvmlDeviceGetHandleByIndex_v2"] }] });
  await using parent = startProgram([...supportCommand("helper_parent.ts"), stub.library], {
    env: { [SCENARIO_VARIABLE]: stub.scenario },
  });
  const pid = Number((await parent.untilOutput(/helper (\d+)/))[1]);
  await until(
    "the helper to have its name",
    () => readFileSync(`/proc/${pid}/comm`, "utf8") === "gpuctl-helper\n",
  );
  await until("the helper to hang in the driver", () => existsSync(`${stub.scenario}.hanging`));
  parent.send("SIGKILL");
  await until("the helper to be gone", () => !isRunning(pid));
});

test("serveHelper() ends when its standard input does", async () => {
  writeScenario(stub, { gpus: [{}] });
  const { status, stdout } = await serve({ parentPid: process.pid });
  const report = { driver: DRIVER, gpus: [idleGpu(0)], unreadableGpus: [] };
  assert.deepEqual(
    [status, JSON.parse(stdout)],
    [0, { protocol: "gpuctl.helper/1", id: 1, report: { ok: true, value: report } }],
  );
});

test("serveHelper() reads nothing when the program that started it has ended before it began", async () => {
  writeScenario(stub, { gpus: [{}] });
  const { status, stdout } = await serve({ parentPid: 4_000_000 });
  assert.deepEqual([status, stdout], [0, ""]);
});

/** Runs a helper of the stand-in with one question on its input, which then ends. */
async function serve({ parentPid }: { readonly parentPid: number }) {
  const start = { protocol: "gpuctl.helper/1", parentPid, source: "nvml", library: stub.library };
  const command = [...supportCommand("helper_program.ts"), "helper", JSON.stringify(start)] as const;
  await using helper = startProgram(command, {
    env: { [SCENARIO_VARIABLE]: stub.scenario },
    input: '{"protocol":"gpuctl.helper/1","id":1,"withUtilization":false}\n',
  });
  return await helper.ended;
}

for (
  const [what, argument] of [
    ["is missing", undefined],
    ["is of another version", '{"protocol":"gpuctl.helper/0","parentPid":1,"source":"nvml"}'],
    [
      "names a relative path",
      '{"protocol":"gpuctl.helper/1","parentPid":1,"source":"sim","directory":"server"}',
    ],
  ] as const
) {
  test(`serveHelper() refuses to begin when its argument ${what}`, async () => {
    const words = argument === undefined ? ["helper"] : ["helper", argument];
    await using helper = startProgram([...supportCommand("helper_program.ts"), ...words]);
    const { status, stdout } = await helper.ended;
    assert.deepEqual([status, stdout], [2, ""]);
  });
}
