/** `gpuctl reset-gpu` on stand-ins for the driver's library and nvidia-smi: what it does, in which order, and how it ends. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { parseDocument } from "../support/documents.ts";
import { type ScenarioGpu, writeScenario } from "../support/nvml_stub.ts";
import {
  answerTo,
  callsOf,
  openResetMachines,
  readReset,
  readStepRecords,
  type ResetLook,
  statesOf,
} from "../support/resetting.ts";

const machines = openResetMachines();
after(() => machines[Symbol.dispose]());
const BUS = "00000000:10:00.0";
const SECOND_BUS = "00000000:11:00.0";
const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] as const;
const GIBIBYTE = 1024 ** 3;
/** NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: reset. */
const NEEDS_RESET: ScenarioGpu["fields"] = [{ id: 230, value: 1 }];
const SUCCESS = `GPU ${BUS} was successfully reset.\nAll done.\n`;
const DONE = [
  "close-helper done",
  "persistence-off done",
  "reset done",
  "persistence-on done",
  "read-again done",
];

test(
  "gpuctl reset-gpu --yes switches persistence mode off, resets, switches it on again and reads the GPU",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make({ scenario: { gpus: [{ fields: NEEDS_RESET, usedBytes: GIBIBYTE }, {}] } });
    const reset = readReset(await machine.run(["0", "--yes", "--json"]), 0);

    assert.equal(reset.outcome, "done");
    assert.equal(reset.warranted, true);
    assert.deepEqual(statesOf(reset), DONE);
    assert.deepEqual(
      reset.gpus.map(({ index, advice, back, memoryUsedBeforeBytes, memoryUsedAfterBytes, faults }) => [
        index,
        advice,
        back,
        memoryUsedBeforeBytes,
        memoryUsedAfterBytes,
        faults,
      ]),
      [[0, "reset", true, GIBIBYTE, 0, []]],
    );
    assert.deepEqual(callsOf(machine), [`pm0 ${BUS} 0`, `r ${BUS} 0`, `pm1 ${BUS} 0`]);
    assert.deepEqual(machine.persistence(), ["1", "1"]);
  },
);

test(
  "gpuctl reset-gpu has no helper left and a session apart when nvidia-smi resets",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make();
    readReset(await machine.run(["0", "--yes", "--json"]), 0);
    assert.deepEqual(
      machine.smi.calls().map(({ order, siblings, signals, descriptors, hasOwnSession }) => [
        order,
        siblings,
        signals,
        descriptors,
        hasOwnSession,
      ]),
      [["pm0", [], [], [], true], ["r", [], [], [], true], ["pm1", [], [], [], true]],
    );
  },
);

test("gpuctl reset-gpu ends a helper that was started for another source first", NEEDS_ROOT, async () => {
  using machine = machines.make();
  // It reads like another source to whoever only skims the line, and it is a text to protect.
  const other = `--source=nvml:${dirname(machine.stub.library)}/./libnvidia-ml.so.1`;
  readReset(await machine.run(["0", "--yes", "--json"], { lastWords: ["--protect", other] }), 0);
  assert.deepEqual(machine.smi.calls().flatMap(({ siblings }) => siblings), []);
});

test("gpuctl reset-gpu records each step before it is done and what came of it", NEEDS_ROOT, async () => {
  using machine = machines.make();
  readReset(await machine.run(["0", "--yes", "--json"]), 0);
  assert.deepEqual(
    readStepRecords(machine.auditLog),
    ["close-helper", "persistence-off", "reset", "persistence-on"].flatMap((kind) => [
      `intent ${kind} planned`,
      `outcome ${kind} done`,
    ]),
  );
});

test("gpuctl reset-gpu leaves persistence mode off where it was off", NEEDS_ROOT, async () => {
  using machine = machines.make({ scenario: { gpus: [{ persistence: 0 }, {}] } });
  const reset = readReset(await machine.run(["0-1", "--yes", "--json"]), 0);
  assert.deepEqual(callsOf(machine), [
    `pm0 ${SECOND_BUS} 0`,
    `r ${BUS} 0`,
    `r ${SECOND_BUS} 0`,
    `pm1 ${SECOND_BUS} 0`,
  ]);
  assert.deepEqual(reset.gpus.map(({ back }) => back), [true, true]);
  assert.deepEqual(machine.persistence(), ["0", "1"]);
});

test("gpuctl reset-gpu without --yes does nothing and ends with 10", NEEDS_ROOT, async () => {
  using machine = machines.make();
  const reset = readReset(await machine.run(["0", "--json"]), 10);
  assert.equal(reset.outcome, "plan");
  assert.deepEqual(statesOf(reset), DONE.map((step) => step.replace("done", "planned")));
  assert.deepEqual([callsOf(machine), existsSync(machine.auditLog)], [[], false]);
});

test(
  "gpuctl reset-gpu by nobody is a plan, and with --yes ends with 4 and does nothing",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make();
    const asNobody = { as: NOBODY, env: { HOME: "/dev/null" } };
    assert.equal(readReset(await machine.run(["0", "--json"], asNobody), 10).outcome, "plan");
    const reset = readReset(await machine.run(["0", "--json", "--yes"], asNobody), 4);
    assert.equal(reset.outcome, "blocked");
    assert.equal(reset.blockers.some(({ kind }) => kind === "not-root"), true);
    assert.deepEqual(callsOf(machine), []);
  },
);

test(
  "gpuctl reset-gpu --yes ends with 5 and does nothing while a display is driven by the GPU",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make({ scenario: { gpus: [{ display: 1 }] } });
    const reset = readReset(await machine.run(["0", "--yes", "--json"]), 5);
    assert.deepEqual([reset.outcome, reset.steps], ["blocked", []]);
    assert.deepEqual(
      reset.blockers.filter(({ clearedBy }) => clearedBy === "nobody").map(({ kind }) => kind),
      [
        "display",
      ],
    );
    assert.deepEqual([callsOf(machine), existsSync(machine.auditLog)], [[], false]);
  },
);

test(
  "gpuctl reset-gpu stops the display manager with --stop-services and starts it again",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make({ scenario: { gpus: [{ display: 1 }] }, services: ["gdm.service"] });
    readReset(await machine.run(["0", "--yes", "--json"]), 5);
    assert.deepEqual([machine.orders(), callsOf(machine)], [[], []]);

    const reset = readReset(await machine.run(["0", "--yes", "--json", "--stop-services"]), 0);
    assert.deepEqual(statesOf(reset), [
      "stop-service gdm.service done",
      ...DONE.slice(0, 4),
      "start-service gdm.service done",
      "read-again done",
    ]);
    assert.deepEqual(machine.orders(), ["stop gdm.service", "start gdm.service"]);
  },
);

test(
  "gpuctl reset-gpu resets nothing when a service cannot be stopped, and starts it again",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make({
      scenario: { gpus: [{ display: 1 }] },
      services: ["gdm.service"],
      before: { "stop gdm.service": "printf 'Job failed: \\033[2J\\n' >&2; exit 1" },
    });
    const reset = readReset(await machine.run(["0", "--yes", "--json", "--stop-services"]), 6);
    assert.deepEqual(statesOf(reset), [
      "stop-service gdm.service failed",
      "close-helper skipped",
      "persistence-off skipped",
      "reset skipped",
      "persistence-on skipped",
      "start-service gdm.service done",
      "read-again skipped",
    ]);
    assert.equal(
      answerTo("stop-service", reset),
      "systemctl ended with status 1: Job failed: \\u{1b}[2J",
    );
    assert.deepEqual([machine.orders(), callsOf(machine)], [["stop gdm.service", "start gdm.service"], []]);
  },
);

test("gpuctl reset-gpu that cannot be recorded ends with 5 and does nothing", NEEDS_ROOT, async () => {
  using machine = machines.make();
  const { status, stdout, stderr } = await machine.run([
    "0",
    "--yes",
    "--audit-log",
    "/proc/none/audit.jsonl",
  ]);
  assert.deepEqual([status, stdout], [5, ""]);
  assert.match(stderr, /^gpuctl: Cannot (?:record in|use the folder) \/proc\/none/);
  assert.deepEqual([callsOf(machine), machine.persistence()], [[], ["1"]]);
});

test(
  "gpuctl reset-gpu ends with 3 for a GPU that is not there, and where no driver answers",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make();
    assert.deepEqual(await machine.run(["9", "--yes"]), {
      status: 3,
      signal: null,
      stdout: "",
      stderr: "gpuctl: Cannot select GPU 9: this machine has GPU 0\n" +
        `  hint: gpuctl snapshot --source nvml:${machine.stub.library} lists the GPUs\n`,
    });
    writeScenario(machine.stub, { gpus: [{}], fail: { nvmlInit_v2: 9, nvmlInitWithFlags: 9 } });
    const { status, stdout, stderr } = await machine.run(["0", "--yes"]);
    assert.deepEqual([status, stdout], [3, ""]);
    assert.match(stderr, /^gpuctl: Cannot see the GPUs: /);
    assert.deepEqual(callsOf(machine), []);
  },
);

test(
  "gpuctl reset-gpu names a lost GPU by its index and says that only a reboot helps",
  NEEDS_ROOT,
  async () => {
    const lost = { fail: { nvmlDeviceGetHandleByIndex_v2: 15 } };
    using machine = machines.make({ scenario: { gpus: [{}, lost] } });
    const plan = readReset(await machine.run(["1", "--json"]), 10);
    assert.deepEqual(plan.gpus.map(({ index, advice }) => [index, advice]), [[1, "reboot"]]);

    const both = readReset(await machine.run(["0-1", "--json", "--yes"]), 5);
    assert.deepEqual([both.outcome, callsOf(machine)], ["blocked", []]);
  },
);

test(
  "gpuctl reset-gpu makes nothing in TMPDIR, which may be somebody else's folder",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make();
    const folder = join(machine.path, "temporary");
    mkdirSync(folder);
    const { mtimeMs } = statSync(folder);
    for (const path of [folder, "/proc/none"]) {
      readReset(await machine.run(["0", "--yes", "--json"], { env: { TMPDIR: path } }), 0);
    }
    assert.equal(statSync(folder).mtimeMs, mtimeMs);
  },
);

test("gpuctl reset-gpu waits for no pipe that stands in the record's place", NEEDS_ROOT, async () => {
  using machine = machines.make();
  const pipe = join(machine.path, "pipe");
  execFileSync("mkfifo", [pipe]);
  assert.equal((await machine.run(["0", "--audit-log", pipe])).status, 10);
  const { status, stderr } = await machine.run(["0", "--yes", "--audit-log", pipe]);
  assert.deepEqual([status, callsOf(machine)], [5, []]);
  assert.match(stderr, /^gpuctl: Cannot record in .*\/pipe: /);
});

test("gpuctl reset-gpu --clocks undoes locked clocks and touches nothing else", NEEDS_ROOT, async () => {
  using machine = machines.make({ scenario: { gpus: [{}, { display: 1 }] } });
  const reset = readReset(await machine.run(["0,1", "--yes", "--json", "--clocks", "--memory-clocks"]), 0);
  assert.deepEqual([reset.outcome, new Set(statesOf(reset))], ["done", new Set(["reset-clocks done"])]);
  const uuids = [0, 1].map((index) => `GPU-0000000${index}-1111-2222-3333-444444444444`);
  const calls = ["nvmlDeviceResetGpuLockedClocks", "nvmlDeviceResetMemoryLockedClocks"];
  assert.deepEqual(
    readFileSync(`${machine.stub.scenario}.changes`, "utf8").trimEnd().split("\n"),
    uuids.flatMap((uuid) => calls.map((call) => `${uuid} ${call}`)),
  );
  assert.deepEqual([callsOf(machine), machine.persistence()], [[], ["1", "1"]]);
});

test("gpuctl reset-gpu --clocks goes by nvidia-smi where NVML has no such call", NEEDS_ROOT, async () => {
  using machine = machines.make({ scenario: { gpus: [{ fail: { nvmlDeviceResetGpuLockedClocks: 13 } }] } });
  const reset = readReset(await machine.run(["0", "--yes", "--json", "--clocks"]), 0);
  assert.deepEqual([reset.outcome, callsOf(machine)], ["done", [`rgc ${BUS} 0`]]);
});

test(
  "gpuctl reset-gpu writes its report to a file, and begins nothing where it cannot",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make();
    const refused = await machine.run(["0", "--yes", "--json", "-o", "/proc/none/report"]);
    assert.equal(refused.status, 3);
    assert.deepEqual([callsOf(machine), existsSync(machine.auditLog)], [[], false]);

    const path = join(machine.path, "report.json");
    const { status, stdout, stderr } = await machine.run(["0", "--yes", "--json", "-o", path]);
    assert.deepEqual([status, stdout, stderr], [0, "", ""]);
    assert.equal(parseDocument<ResetLook>(readFileSync(path, "utf8")).outcome, "done");
    assert.equal((statSync(path).mode & 0o777).toString(8), "600");
  },
);

test(
  "gpuctl reset-gpu reports all the same when its file cannot be written any more",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make({
      answers: { r: { before: "wait_for go", out: SUCCESS, takesEffect: true } },
    });
    const folder = join(machine.path, "reports");
    mkdirSync(folder);
    await using program = machine.start(["0", "--yes", "--json", "-o", join(folder, "report.json")]);
    await machine.smi.untilBegun("r");
    rmSync(folder, { recursive: true });
    machine.release("go");
    const { status, stdout, stderr } = await program.ended;
    assert.deepEqual([status, parseDocument<ResetLook>(stdout).outcome], [3, "done"]);
    assert.match(stderr, /^gpuctl: Cannot write .*report\.json: /);
  },
);

test(
  "gpuctl reset-gpu ends with 2 for what makes no sense, before anything is looked at",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make();
    const cases: readonly (readonly [readonly string[], string])[] = [
      [["0", "--pid", "1"], "Cannot end processes without --evict: --pid only says whom it may end"],
      [
        ["MIG-5ee8", "--yes"],
        "Cannot reset mig-5ee8: a MIG device has no reset of its own\n" +
        "  hint: name its GPU: that is reset with all its MIG devices",
      ],
      [["0", "--nvidia-smi", "nvidia-smi"], 'Cannot run "nvidia-smi": expected an absolute path'],
    ];
    for (const [args, message] of cases) {
      // The last of two values counts, so that the machine's own comes first here.
      const { status, stderr } = await machine.run([...args], { lastWords: args });
      assert.deepEqual([status, stderr], [2, `gpuctl: ${message}\n`]);
    }
    assert.equal((await machine.run([])).status, 2);
  },
);

test(
  "gpuctl reset-gpu takes --evict, --stop-services and the program from nobody but the command line",
  NEEDS_ROOT,
  async () => {
    using machine = machines.make();
    const config = join(machine.path, "config.toml");
    for (const name of ["evict", "stop-services"]) {
      writeFileSync(config, `[reset-gpu]\n${name} = true\n`);
      const { status, stderr } = await machine.run(["0", "--config", config]);
      assert.deepEqual(
        [status, stderr],
        [2, `gpuctl: Cannot use ${config}:2:1: "${name}" counts only on the command line\n`],
      );
    }
  },
);
