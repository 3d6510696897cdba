/** Every cause of a broken isolation, with real processes on a simulated server of eight GPUs. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { quoteArguments } from "../../lib/core/text.ts";
import { parseDuration } from "../../lib/core/units.ts";
import { STRAY_CAUSES } from "../../lib/model/isolation.ts";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { gpuctlCommand, withRuntime } from "../support/binary.ts";
import { BROKEN, type BrokenJob, FIVE, lone, uuid } from "../support/broken_jobs.ts";
import { makeControlGroup } from "../support/control_group.ts";
import { parseDocument } from "../support/documents.ts";
import {
  holdCommand,
  type IsolationReport,
  verify,
  type ViolationReport,
} from "../support/isolation_report.ts";
import { runProgram } from "../support/running_program.ts";
import { startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";

test("there is a job here for every cause", () => {
  const played = Object.keys(BROKEN).map((name) => name.split(",", 1)[0]);
  // Those of containers stand below; intruders are not the job's own, and have their tests where nobody runs one.
  assert.deepEqual(new Set([...played, "container", "intruder"]), new Set(STRAY_CAUSES));
});

for (const [name, job] of Object.entries(BROKEN)) {
  test(`verify-isolation finds the cause ${name}`, async () => {
    await assertBroken(job);
  });
}

for (
  const [name, { env, explanation, fix }] of Object.entries({
    "given every GPU": {
      env: { NVIDIA_VISIBLE_DEVICES: "all" },
      explanation: 'The container was given every GPU: NVIDIA_VISIBLE_DEVICES="all"',
      fix: `Give it only the job's GPUs: docker run --gpus '"device=${uuid(5)}"'`,
    },
    "given another GPU": {
      env: { NVIDIA_VISIBLE_DEVICES: "0,5" },
      explanation: 'The container was given this GPU: NVIDIA_VISIBLE_DEVICES="0,5"',
      fix: `Give it only the job's GPUs: docker run --gpus '"device=${uuid(5)}"'`,
    },
    "with more than it was given": {
      env: { NVIDIA_VISIBLE_DEVICES: "5" },
      explanation:
        'The container runtime was asked for GPU 5 (NVIDIA_VISIBLE_DEVICES="5"), and the container has this GPU all the ' +
        "same: --privileged, --device, a CDI device or a mounted /dev gives it past that list",
      fix: `Give it only the job's GPUs: docker run --gpus '"device=${
        uuid(5)
      }"', without --privileged and --device`,
    },
    "with numbers of its own": {
      env: { CUDA_VISIBLE_DEVICES: "0" },
      explanation:
        'CUDA_VISIBLE_DEVICES="0" counts the GPUs of the container, which need not be those of the host',
      fix: `${FIVE}: UUIDs mean the same everywhere`,
    },
  })
) {
  test(`verify-isolation finds the cause container, of one ${name}`, NEEDS_ROOT, async () => {
    await using group = makeControlGroup({ path: [`docker-${"a1b2c3d4".repeat(8)}.scope`] });
    await assertBroken({
      enter: ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', group.members],
      env,
      expected: lone(0, { cause: "container", explanation, fix }),
    });
  });
}

test("verify-isolation finds the cause environment-unknown for who may not read it", NEEDS_ROOT, async () => {
  await using sim = await startSim();
  chmodSync(dirname(sim.folder), 0o755);
  using home = temporaryFolder();
  chmodSync(home.path, 0o755);
  await using job = await sim.hold({ gpu: 2, env: { CUDA_VISIBLE_DEVICES: "2,0,1" } });
  const asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] as const;
  const { status, stdout } = await runProgram([
    ...asNobody,
    ...gpuctlCommand(),
    "verify-isolation",
    ...["--json", "--gpu", "5", "--pid", String(job.readyPid)],
  ], withRuntime({ env: { ...sim.env, HOME: home.path }, cwd: home.path }));

  assert.equal(status, 10);
  assert.deepEqual(told(parseDocument(stdout)), [{
    pid: job.readyPid,
    index: 1,
    contextBytes: 518 * 1024 ** 2 + 2 * 1024 ** 3,
    cause: "environment-unknown",
    explanation:
      "The environment of the process could not be read, so whether CUDA_VISIBLE_DEVICES was set is unknown: no permission " +
      `(EACCES: permission denied, open '/proc/${job.readyPid}/environ')`,
    fix: FIVE,
  }]);
});

test("verify-isolation says in words what broke out, why, and what to do", async () => {
  await using sim = await startSim();
  const job = holdCommand("--gpu", "0", "--for", "600ms");
  const { status, stdout, stderr } = await sim.run(["verify-isolation", "--gpu", "5", "--", ...job], {
    env: { CUDA_VISIBLE_DEVICES: "3" },
  });
  const pid = /^ready (\d+)$/m.exec(stdout)?.[1];
  const looks =
    /^ {2}\d+ looks were taken, at most .+ apart; a context that lived shorter may not have been seen$/m;
  const ended = /^.+ sim hold --gpu 0 --for 600ms: ended with status 0 after [\d.]+ m?s$/m;

  assert.equal(status, 10);
  assert.match(stderr, looks);
  assert.equal(
    stderr.replace(looks, "  LOOKS").replace(ended, "ENDED").replace(/(PID \d+) \(\w+\)/, "$1 (NAME)")
      .replaceAll(
        `PID ${pid}`,
        "PID N",
      ),
    [
      "SIMULATED SERVER: no real GPU is behind these numbers",
      "VIOLATED: the job was given GPU 5; 1 process of it had a context out of place, on GPU 3",
      "ENDED",
      "",
      "PID N (NAME) had 1.5 GiB on GPU 3: variable-names-it",
      '  why: CUDA_VISIBLE_DEVICES="3" names this GPU, which is not one that the job was given',
      `  fix: ${FIVE}`,
      "",
      "NOTES",
      "  GPU 0-2,4,6-7 were opened and not used by 1 process of the job (PID N), as by any reader of NVML",
      "  LOOKS",
      "",
    ].join("\n"),
  );
});

test("verify-isolation knows a job by descent though it has left its parents and its session", async () => {
  await using sim = await startSim();
  const hold = quoteArguments(holdCommand("--gpu", "2", "--for", "600ms"));
  const twiceForked = `setsid /bin/sh -c '(${hold} &) &'`;
  const { status, stdout, report } = await verify(sim, ["/bin/sh", "-c", twiceForked], {
    options: ["--gpu", "5"],
  });
  const pid = Number(/^ready (\d+)$/m.exec(stdout)?.[1]);

  assert.equal(status, 10);
  assert.deepEqual(report.violations.map(({ index, cause, ...each }) => [each.pid, index, cause]), [
    [pid, 2, "variable-missing"],
  ]);
});

test("verify-isolation says how long a context may have lived unseen, of a job with children of a moment", async () => {
  await using sim = await startSim({ faults: 'latency = "300ms"\n' });
  const brief = quoteArguments(holdCommand("--gpu", "2", "--for", "1ms"));
  const script = `${brief}; ${brief}; exec ${quoteArguments(holdCommand("--gpu", "5", "--for", "1s"))}`;
  const { status, report } = await verify(sim, ["/bin/sh", "-c", script], { options: ["--gpu", "5"] });
  const apart = /at most (.+) apart; a context that lived shorter may not have been seen$/m
    .exec(report.notes.join("\n"))?.[1];

  // Whether a look met one of them is chance. That every verdict names its limit is not.
  assert.equal(status, STATUSES[report.verdict]);
  assert.ok(apart !== undefined && parseDuration(apart.replace(" ", "")) >= 300, report.notes.join("\n"));
});

const STATUSES: Readonly<Record<string, number>> = { isolated: 0, unproven: 3, violated: 10 };

/** Runs the command behind it until its own input ends, and says which process that is. */
const UNTIL_INPUT_ENDS = '"$@" & echo job $!; read -r _; kill $!; wait; exit 0';

/** Has a job judged by those who run it, and by somebody who comes to it later: by one look, and for a while. */
async function assertBroken(
  { faults, env = {}, given = "5", words = [], lint, enter = [], expected }: BrokenJob,
) {
  await using sim = await startSim({ ...faults !== undefined && { faults } });
  using folder = temporaryFolder();
  if (lint !== undefined) folder.write("train.py", lint);
  const options = ["--json", "--gpu", given, ...lint === undefined ? [] : ["--lint", "train.py"]];
  const job = [...enter, ...holdCommand(...words, "--for", "20s")];
  const shell = ["/bin/sh", "-c", UNTIL_INPUT_ENDS, "sh"];
  const command = ["verify-isolation", ...options, "-o", "report", "--", ...shell, ...job];
  await using watch = sim.start(command, { env, cwd: folder.path, input: { isOpen: true } });
  const [, ready] = await watch.untilOutput(/^ready (\d+)$/m);
  const [, main = ""] = await watch.untilOutput(/^job (\d+)$/m);
  const judge = (...words: readonly string[]) =>
    sim.run(["verify-isolation", ...options, "--pid", main, ...words], { cwd: folder.path });
  // The second one takes long enough for those who run the job to have looked.
  const later = [await judge(), await judge("--for", "300ms")];
  watch.endInput();
  const { status, stderr } = await watch.ended;

  const holders = Array.from(watch.stdout.matchAll(/^holder (\d+)$/gm), ([, pid]) => Number(pid));
  const pids = holders.length > 0 ? holders : [Number(ready)];
  const violations = (typeof expected === "function" ? expected(pids) : expected)
    .map(({ rank = 0, ...violation }) => ({ pid: pids[rank] ?? NaN, ...violation })).toSorted(byPlace);
  assert.deepEqual([status, stderr], [10, ""]);
  assert.deepEqual(told(parseDocument(readFileSync(`${folder.path}/report`, "utf8"))), violations);
  for (const ended of later) {
    assert.deepEqual([ended.status, ended.stderr], [10, ""]);
    assert.deepEqual(told(parseDocument(ended.stdout)), violations);
  }
}

/** Pids are no ranks where they have begun anew meanwhile. */
function byPlace(a: Pick<ViolationReport, "index" | "pid">, b: typeof a): number {
  return a.index - b.index || a.pid - b.pid;
}

/** What a report says of its violations: all but what names the GPU and the program once more. */
function told({ violations }: IsolationReport) {
  return violations.map(({ pid, index, contextBytes, cause, explanation, fix }) => ({
    pid,
    index,
    contextBytes,
    cause,
    explanation,
    fix,
  }));
}
