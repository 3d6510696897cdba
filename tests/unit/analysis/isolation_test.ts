import { test } from "node:test";
import assert from "node:assert/strict";
import { gpuIndex } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import { ISOLATION_ENDINGS, judgeIsolation } from "../../../lib/analysis/isolation.ts";
import { encodeIsolation } from "../../../lib/model/isolation_json.ts";
import { type CaseSpec, isolationCase, mib } from "./isolation_case.ts";
import { A, B, MIG_A, MIG_B } from "./visible_devices_machine.ts";

const LOOKS = "2 looks were taken, at most 100 ms apart; a context that lived shorter may not have been seen";
const UNTESTED = "The job had no context on the GPUs that it was given, so it was not put to the test";

function judge(spec: CaseSpec) {
  return judgeIsolation(isolationCase(spec));
}

/** A job that works on GPU 1 alone, with one more thing. */
function clean(more: Partial<CaseSpec> = {}): CaseSpec {
  const look = [{}, { contexts: [{ pid: 11, mib: 774 }], usedMib: 774 }];
  return { looks: [look, look], processes: [{ pid: 11, environment: { CUDA_VISIBLE_DEVICES: B } }], ...more };
}

test("judgeIsolation() says isolated when every GPU was seen in every look and nothing strayed", () => {
  assert.deepEqual(judge(clean()), {
    verdict: "isolated",
    threshold: mib(0),
    looks: 2,
    longestGap: milliseconds(100),
    gpus: [
      {
        uuid: A,
        index: 0,
        name: known("NVIDIA H200"),
        allowed: "not",
        growth: known(mib(0)),
        verdict: "isolated",
      },
      {
        uuid: B,
        index: 1,
        name: known("NVIDIA H200"),
        allowed: "wholly",
        growth: known(mib(774)),
        verdict: "isolated",
      },
    ],
    violations: [],
    suspicions: [],
    notes: [LOOKS],
    problems: [],
  });
});

test("judgeIsolation() proves a context on another GPU, also one that was there in one look only", () => {
  const judged = judge({
    looks: [[{ contexts: [{ pid: 11, mib: 306 }] }, { contexts: [{ pid: 11, mib: 774 }] }], [{}, {
      contexts: [{ pid: 11, mib: 774 }],
    }]],
    processes: [{ pid: 11 }],
  });
  assert.equal(judged.verdict, "violated");
  assert.deepEqual(judged.gpus.map(({ verdict }) => verdict), ["violated", "isolated"]);
  assert.deepEqual(judged.violations, [{
    gpu: A,
    index: 0,
    pid: 11,
    command: "python",
    contextBytes: mib(306),
    cause: "variable-missing",
    explanation:
      "CUDA_VISIBLE_DEVICES was not set when the process started, so CUDA showed it every GPU. If the program " +
      "sets it by itself, it does so too late",
    fix:
      `Start the job with CUDA_VISIBLE_DEVICES=${B}; gpuctl verify-isolation --lint finds where a program sets it too late`,
  }]);
});

test("judgeIsolation() tells the most that a context had, whenever that was", () => {
  const look = (size: number) => [{ contexts: [{ pid: 11, mib: size }] }, {}];
  const judged = judge({ looks: [look(300), look(900), look(500)], processes: [{ pid: 11 }] });
  assert.deepEqual(judged.violations.map(({ contextBytes }) => contextBytes), [mib(900)]);
});

test("judgeIsolation() does not blame the job for other people's contexts", () => {
  const look = [{ contexts: [{ pid: 99, mib: 9000 }] }, { contexts: [{ pid: 11 }] }];
  assert.equal(judge(clean({ looks: [look, look], others: [99] })).verdict, "isolated");
});

test("judgeIsolation() lets contexts within the threshold pass, and tells of them", () => {
  const look = [{ contexts: [{ pid: 11, mib: 300 }] }, { contexts: [{ pid: 11, mib: 774 }] }];
  const judged = judge(clean({ looks: [look, look], thresholdMib: 300 }));
  assert.equal(judged.verdict, "isolated");
  assert.deepEqual(judged.notes, [
    "PID 11 has a context of 300 MiB on GPU 0, which is within the threshold",
    LOOKS,
  ]);
  assert.equal(judge(clean({ looks: [look, look], thresholdMib: 299 })).verdict, "violated");
});

test("judgeIsolation() takes a context of 0 MiB for a note, and one of unknown size for no proof either way", () => {
  const withSize = (size: 0 | ReturnType<typeof absent>) => {
    const look = [{ contexts: [{ pid: 11, mib: size }] }, { contexts: [{ pid: 11, mib: 774 }] }];
    return judge(clean({ looks: [look, look] }));
  };
  assert.deepEqual(
    withSize(0).notes[0],
    "PID 11 has a context of 0 B on GPU 0, which is within the threshold",
  );
  assert.equal(withSize(0).verdict, "isolated");
  const unknown = withSize(absent("not-reported"));
  assert.equal(unknown.verdict, "unproven");
  assert.deepEqual(unknown.problems, [{
    subject: "GPU 0",
    reason: absent("not-reported"),
    message: "GPU 0: the size of the context of PID 11 is not known: not reported",
  }]);
});

test("judgeIsolation() never passes a GPU whose processes were not listed, whatever its total says", () => {
  const quiet = [{ list: "unknown", usedMib: 3 }, { contexts: [{ pid: 11 }] }] as const;
  const judged = judge(clean({ looks: [[{}, {}], quiet], thresholdMib: 10 }));
  assert.equal(judged.verdict, "unproven");
  assert.deepEqual(judged.suspicions, []);
  assert.deepEqual(judged.problems, [{
    subject: "GPU 0",
    reason: absent("not-supported", "WSL"),
    message: "GPU 0: its processes were not all listed: not supported here (WSL)",
  }]);
});

test("judgeIsolation() suspects growth where only totals exist, with its bytes", () => {
  const look = [{ list: "unknown", usedMib: 900 }, { list: "unknown", usedMib: 774 }] as const;
  const judged = judge({ looks: [look], before: [{ usedMib: 100 }, {}], processes: [] });
  assert.equal(judged.verdict, "unproven");
  assert.deepEqual(judged.suspicions, [{
    gpu: A,
    index: 0,
    growthBytes: mib(800),
    message: "GPU 0 had up to 800 MiB more in use than before the job, and the driver does not say whose",
  }]);
});

test("judgeIsolation() lists everything that could not be seen", () => {
  const lost = absent("lost");
  const problems = (spec: CaseSpec) => {
    const judged = judge(spec);
    assert.equal(judged.verdict, "unproven");
    assert.ok(judged.gpus.every(({ verdict }) => verdict !== "violated"));
    return judged.problems.map(({ message }) => message);
  };
  assert.deepEqual(problems({ looks: [] }), ["The job was over before the first look at the GPUs"]);
  assert.deepEqual(problems({ looks: [absent("timed-out")] }), [
    "No look at the GPUs was answered while the job ran",
  ]);
  const [look = []] = clean().looks;
  assert.deepEqual(problems(clean({ looks: [look, absent("timed-out"), look] })), [
    "1 of 3 looks were not answered: no answer in time",
  ]);
  assert.deepEqual(problems(clean({ untold: absent("no-permission") })), [
    "Not every process of the job could be told from others: no permission",
  ]);
  const input = isolationCase(clean());
  const unreadable = {
    ...input,
    machine: { ...input.machine, unreadableGpus: [{ index: gpuIndex(2), reason: lost }] },
  };
  assert.equal(judgeIsolation(unreadable).verdict, "unproven");
});

test("judgeIsolation() says so when a GPU was missing in a look, or the job's GPU is not there at all", () => {
  const [both = []] = clean().looks;
  const one = "ok" in both ? [] : both.slice(0, 1);
  assert.deepEqual(judge(clean({ looks: [both, one] })).problems.map(({ message }) => message), [
    "GPU 1: it was missing in 1 of 2 looks",
  ]);
  assert.deepEqual(
    judge(clean({ allowed: [{ gpu: B }, { gpu: MIG_A }] })).problems.map(({ message }) => message),
    [
      `The job's GPU ${MIG_A} is not among those of the machine`,
    ],
  );
});

test("judgeIsolation() leaves it open whose a process was that came up and went before it could be looked up", () => {
  const look = [{ contexts: [{ pid: 77 }] }, { contexts: [{ pid: 11 }] }];
  const open = judge(clean({ looks: [look, look], unplaced: [77] }));
  assert.equal(open.verdict, "unproven");
  assert.deepEqual(open.problems.map(({ message }) => message), [
    "GPU 0: PID 77 came up during the job, and whose it was could not be told",
  ]);
  const before = [{ contexts: [{ pid: 77 }] }, {}];
  assert.equal(judge(clean({ looks: [look, look], unplaced: [77], before })).verdict, "isolated");
});

test("judgeIsolation() lets a proven violation outweigh what was not seen", () => {
  const look = [{ contexts: [{ pid: 11 }], list: "incomplete" }, {}] as const;
  const judged = judge({
    looks: [look, absent("timed-out")],
    untold: absent("no-permission"),
    processes: [{ pid: 11 }],
  });
  assert.equal(judged.verdict, "violated");
  assert.equal(judged.problems.length, 3);
});

test("judgeIsolation() works for a job that already ran: without a look before, growth is not known", () => {
  const judged = judge(clean({ before: absent("not-asked") }));
  assert.equal(judged.verdict, "isolated");
  assert.deepEqual(judged.gpus.map(({ growth }) => growth), [absent("not-asked"), absent("not-asked")]);
});

test("judgeIsolation() allows one MIG device and no other one of the same GPU", () => {
  const instance = (uuid: typeof MIG_A, gpuInstance: number) => ({
    uuid,
    gpuInstance: known(gpuInstance),
    computeInstance: known(0),
    profile: known("1g.10gb"),
    memoryTotal: absent("not-asked"),
    memoryUsed: absent("not-asked"),
  });
  const migs = [instance(MIG_A, 1), instance(MIG_B, 2)];
  const within = (gpuInstance?: number) => {
    const context = { pid: 11, ...(gpuInstance === undefined ? {} : { gpuInstance }) };
    const judged = judge({
      allowed: [{ gpu: A, mig: MIG_B }],
      looks: [[{ migs, contexts: [context] }]],
      processes: [{ pid: 11 }],
    });
    return [judged.verdict, judged.gpus[0]?.allowed, ...judged.problems.map(({ message }) => message)];
  };
  assert.deepEqual(within(2), ["isolated", "partly"]);
  assert.deepEqual(within(1), ["violated", "partly"]);
  assert.deepEqual(within(), [
    "unproven",
    "partly",
    "GPU 0: which of its MIG devices PID 11 used is not known",
  ]);
});

test("judgeIsolation() tells visible GPUs from opened ones by their mappings, and neither from a violation", () => {
  const judged = judge(clean({
    processes: [
      { pid: 11, devices: { 0: [7, 2], 1: [23, 3] } },
      { pid: 12, devices: { 0: [3, 0] } },
      { pid: 13, devices: { 0: [3, 0] } },
    ],
  }));
  assert.equal(judged.verdict, "isolated");
  assert.deepEqual(judged.notes, [
    "GPU 0 is visible to 1 process of the job (PID 11), without a context: about 3 MiB of it for each, charged to nobody. " +
    "CUDA_VISIBLE_DEVICES would hide it",
    "GPU 0 was opened and not used by 2 processes of the job (PID 12, 13), as by any reader of NVML",
    LOOKS,
  ]);
});

test("judgeIsolation() says when a job was not put to the test", () => {
  const judged = judge({ looks: [[{}, {}], [{}, {}]] });
  assert.equal(judged.verdict, "isolated");
  assert.deepEqual(judged.notes, [UNTESTED, LOOKS]);
});

test("judgeIsolation() ends the program by its verdict", () => {
  assert.deepEqual(ISOLATION_ENDINGS, { violated: "finding", unproven: "unavailable", isolated: "ok" });
});

test("encodeIsolation() writes null and its reason for what is not known", () => {
  const encoded = encodeIsolation(judge(clean({ before: absent("not-asked") })), { simulated: false });
  assert.deepEqual(JSON.parse(JSON.stringify(encoded)), {
    schema: "gpuctl.verify-isolation/1",
    simulated: false,
    command: null,
    status: null,
    signal: null,
    timedOut: null,
    durationMs: null,
    verdict: "isolated",
    thresholdBytes: 0,
    looks: 2,
    longestGapMs: 100,
    gpus: [
      { uuid: A, index: 0, name: "NVIDIA H200", allowed: "not", verdict: "isolated", growthBytes: null },
      { uuid: B, index: 1, name: "NVIDIA H200", allowed: "wholly", verdict: "isolated", growthBytes: null },
    ],
    violations: [],
    suspicions: [],
    rules: null,
    notes: [LOOKS],
    problems: [0, 1].map((index) => ({
      at: `/gpus/${index}/growthBytes`,
      subject: `GPU ${index}`,
      why: "not-asked",
      detail: null,
      message: `growthBytes of GPU ${index} is not known: not asked for`,
    })),
  });
});

test("encodeIsolation() says of a command that was run how it ended", () => {
  const job = {
    command: ["sh", "-c", "exit 7"],
    end: { kind: "exited", status: 7 },
    hasTimedOut: false,
    ranFor: milliseconds(512.3),
  } as const;
  const { command, status, signal, timedOut, durationMs } = encodeIsolation({ ...judge(clean()), job }, {
    simulated: false,
  });
  assert.deepEqual([command, status, signal, timedOut, durationMs], ["sh -c 'exit 7'", 7, null, false, 512]);
  const killed = encodeIsolation(
    { ...judge(clean()), job: { ...job, end: { kind: "killed", signal: 15 } } },
    { simulated: false },
  );
  assert.deepEqual([killed.status, killed.signal], [null, "SIGTERM"]);
});
