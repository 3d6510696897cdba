import assert from "node:assert/strict";
import { test } from "node:test";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { diffSnapshots } from "../../../lib/analysis/diff_snapshots.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { byteChange, bytes, clockTicks, milliseconds } from "../../../lib/core/units.ts";
import type { EndOutcome } from "../../../lib/model/cleanup.ts";
import type { GpuVerdict, JobDiff, SettleEnd } from "../../../lib/model/diff.ts";
import { PLAIN } from "../../../lib/render/colour.ts";
import { widthOf } from "../../../lib/render/layout.ts";
import { renderJobDiff, renderSnapshotDiff } from "../../../lib/render/diff_text.ts";
import { formatVerdict } from "../../../lib/render/diff_verdict.ts";
import { assertGolden } from "../../support/golden.ts";
import { evidenceOf, GPUCTL, type JobStory, MIB, tell, TOLERANCE } from "../../support/job_story.ts";
import { type MachineSpec, observe, type ProcessSpec } from "../../support/machine.ts";
import { diffJob } from "../../../lib/analysis/diff_job.ts";
import { pid } from "../../../lib/core/ids.ts";

const two = (processes: readonly ProcessSpec[], more: Partial<MachineSpec> = {}): MachineSpec => ({
  gpus: [{}, {}],
  processes,
  ...more,
});
const worker: ProcessSpec = { pid: 900, touch: "context", mib: 40_960 };
const child: ProcessSpec = { pid: 910, touch: "inherited", group: 900, parent: 99_999 };
const LEAK: JobStory = {
  before: two([]),
  run: [[100, two([worker, child])]],
  after: two([GPUCTL, child], { dead: [{ pid: 900, mib: 40_960 }] }),
  job: [900, 910],
  alive: [910, 920],
  settleEnd: "stalled",
};

test("renderJobDiff() says in a few lines that all came back", () => {
  const diff = tell({
    before: two([]),
    run: [[100, two([worker])]],
    settle: [[1085, two([])]],
    after: two([]),
    job: [900],
  });

  assertGolden("diff/released.txt", renderJobDiff(diff));
});

test("renderJobDiff() names who holds what was left, why, and what to do", () => {
  assertGolden("diff/held.txt", renderJobDiff(tell(LEAK)));
});

test("renderJobDiff() tells what ending the leftovers brought", () => {
  const diff: JobDiff = {
    ...tell(LEAK),
    cleanup: {
      acts: [{
        pid: pid(910),
        startTicks: evidenceOf(LEAK).alive[0]?.startTicks ?? assert.fail(),
        outcome: "ended",
        signal: "SIGTERM",
      }],
      freed: known(bytes(40_960 * MIB)),
      took: milliseconds(108),
      settleEnd: "settled",
    },
  };

  assertGolden("diff/cleaned.txt", renderJobDiff(diff));
});

test("renderJobDiff() says of leftovers that were ended how much came back, and of others that they were not", () => {
  const lastLine = (freedMib: number, outcome: EndOutcome) => {
    const diff: JobDiff = {
      ...tell(LEAK),
      cleanup: {
        acts: [{ pid: pid(910), startTicks: clockTicks(9100), outcome, signal: "SIGTERM" }],
        freed: known(bytes(freedMib * MIB)),
        took: milliseconds(108),
        settleEnd: "settled",
      },
    };
    return renderJobDiff(diff).trimEnd().split("\n").at(-1);
  };

  assert.equal(
    lastLine(40_960, "ended"),
    "40 GiB was left on GPU 0; gpuctl ended PID 910 and it came back.",
  );
  assert.equal(
    lastLine(1024, "ended"),
    "40 GiB was left on GPU 0; gpuctl ended PID 910, and 1 GiB came back.",
  );
  assert.equal(
    lastLine(0, "survived"),
    "40 GiB was left on GPU 0; gpuctl could not end what holds it.",
  );
});

test("renderJobDiff() says left behind only of memory that had stopped coming back", () => {
  const story = { ...LEAK, after: two([], { dead: [{ pid: 900, mib: 40_960 }] }) };
  const lastLine = (settleEnd: SettleEnd) =>
    renderJobDiff(tell({ ...story, settleEnd })).trimEnd().split("\n").at(-1);

  assert.equal(lastLine("stalled"), "40 GiB was left behind on GPU 0.");
  assert.equal(
    lastLine("limit"),
    "40 GiB was not back on GPU 0 when the wait ended: a longer --settle tells whether it comes back.",
  );
});

test("renderJobDiff() names only GPUs with memory on them, and sets apart those that are merely seen", () => {
  const eight = (processes: readonly ProcessSpec[], more: Partial<MachineSpec> = {}): MachineSpec => ({
    gpus: Array.from({ length: 8 }, () => ({})),
    processes,
    ...more,
  });
  const left: ProcessSpec = { ...child, sees: [1, 2, 3] };
  const gpus = [{}, { usedMib: 3 }, { usedMib: 3 }, { usedMib: 3 }, {}, {}, {}, {}];
  const text = renderJobDiff(tell({
    ...LEAK,
    before: eight([]),
    run: [[100, eight([worker, left])]],
    after: eight([GPUCTL, left], { gpus, dead: [{ pid: 900, mib: 40_960 }] }),
  }));

  assert.match(
    text,
    /^GPU 1-3: only what it costs to be seen by more processes\nGPU 4-7: unchanged$/m,
  );
  assert.match(text, /^40 GiB was left behind on GPU 0\.$/m);
});

test("renderJobDiff() keeps to the width of a terminal, and no verdict is cut", () => {
  const text = renderJobDiff(tell(LEAK), { width: 60, paint: PLAIN });

  assert.deepEqual(text.split("\n").filter((line) => widthOf(line) > 60), []);
  assert.match(text, /^GPU 0: held by PID 910$/m);
});

test("renderJobDiff() says what could not be seen where it bears on the verdict, and only there", () => {
  const stranger = (mib: number): ProcessSpec => ({ pid: 300, touch: "context", mib, on: [1] });
  const reader = { isRoot: false, unreadable: 3 };
  const diff = tell({
    before: two([stranger(1000)], { reader }),
    run: [[100, two([stranger(5000), worker])]],
    after: two([stranger(5000)], { reader }),
    job: [900],
  });

  assertGolden("diff/others.txt", renderJobDiff({ ...diff, simulated: true }));
  const held = tell({ ...LEAK, after: { ...LEAK.after, reader } });
  assert.match(renderJobDiff(held), /^Not seen: The descriptors of 3 of /m);
});

test("renderJobDiff() shows a signal, a time-out, and a wait that was cut short", () => {
  const evidence = evidenceOf({ before: two([]), after: two([]) });
  const firstLine = (more: Partial<typeof evidence>) =>
    renderJobDiff(diffJob({ ...evidence, ...more })).split("\n")[0];

  assert.equal(
    firstLine({ end: { kind: "killed", signal: 9 } }),
    "python3 train.py: was ended by SIGKILL after 1 s",
  );
  assert.equal(firstLine({ hasTimedOut: true }), "python3 train.py: ran out of time and was ended after 1 s");
  assert.match(
    renderJobDiff(diffJob({ ...evidence, settleEnd: "interrupted" })),
    /^The wait for the memory was interrupted after 50 ms\.$/m,
  );
});

test("renderJobDiff() shows what a command named itself, and does not obey it", () => {
  const evidence = evidenceOf({ before: two([]), after: two([]) });
  const text = renderJobDiff(diffJob({ ...evidence, command: ["./\x1b[2J\u202e"] }));

  assert.equal(text.split("\n")[0], "'./\\u{1b}[2J\\u{202e}': ended with status 0 after 1 s");
});

test("formatVerdict() has words for every verdict", () => {
  const verdicts: [GpuVerdict, string][] = [
    [{ kind: "held", by: [pid(4), pid(5), pid(9)] }, "held by PID 4-5, 9"],
    [{ kind: "held-by-nobody-visible", listed: [] }, "held by nobody that can be seen"],
    [
      { kind: "held-by-nobody-visible", listed: [pid(7)] },
      "listed for dead PID 7, held by nobody that can be seen",
    ],
    [
      {
        kind: "still-releasing",
        rate: { perSecond: bytes(12 * 1024 ** 3), over: milliseconds(2000), remaining: milliseconds(4300) },
      },
      "still coming back at 12 GiB/s, about 4.3 s to go",
    ],
    [
      { kind: "moved", handovers: [{ from: [pid(9)], to: pid(3), bytes: bytes(MIB) }] },
      "1 MiB moved from PID 9 to PID 3 (CUDA IPC)",
    ],
    [{ kind: "grew", by: [pid(3)] }, "PID 3 grew"],
    [{ kind: "unknown", reason: absent("lost") }, "not known: the GPU has fallen off the bus"],
    [{ kind: "changed-by-others" }, "changed by others"],
    [{ kind: "released", in: known(milliseconds(85)) }, "released in 85 ms"],
    [{ kind: "released", in: absent("not-reported") }, "released"],
    [{ kind: "unchanged" }, "unchanged"],
  ];

  for (const [verdict, words] of verdicts) assert.equal(formatVerdict(verdict), words);
});

test("renderSnapshotDiff() shows what came, went and grew", () => {
  const named = (name: string, machine: MachineSpec) => ({ name, snapshot: attribute(observe(machine)) });
  const before = two([{ pid: 5, touch: "context", mib: 800 }, {
    pid: 6,
    touch: "context",
    mib: 9713,
    on: [1],
  }]);
  const after = two([{ pid: 6, touch: "context", mib: 10_845, on: [1] }, GPUCTL, child], {
    dead: [{ pid: 900, mib: 4096 }],
  });

  assertGolden(
    "diff/snapshots.txt",
    renderSnapshotDiff(diffSnapshots(named("before.json", before), named("now", after), TOLERANCE)),
  );
});

test("renderJobDiff() never shows a change of bytes as a size", () => {
  const diff = tell({ before: two([worker]), after: two([worker]) });
  const [gpu, ...rest] = diff.gpus;
  assert.ok(gpu);
  const changed = {
    ...gpu,
    others: known(byteChange(-5 * MIB)),
    verdict: { kind: "changed-by-others" as const },
  };

  assert.match(renderJobDiff({ ...diff, gpus: [changed, ...rest] }), / -5 MiB {2}changed by others$/m);
});

test("renderSnapshotDiff() says left behind of nobody who is at work", () => {
  const named = (name: string, machine: MachineSpec) => ({ name, snapshot: attribute(observe(machine)) });
  const live: ProcessSpec = { pid: 7, touch: "context", mib: 800, on: [1], parent: 6 };
  const after = two([{ pid: 6 }, live, GPUCTL, child], { dead: [{ pid: 900, mib: 4096 }] });
  const text = renderSnapshotDiff(
    diffSnapshots(named("before.json", two([])), named("now", after), TOLERANCE),
  );

  assert.deepEqual(
    text.split("\n").filter((line) => /^(LEFT|HELD|PID \d)/.test(line)),
    [
      "LEFT BEHIND",
      "PID 910  inherited  python3.12 train.py",
      "HELD NOW AND NOT BEFORE",
      "PID 7  live  python3.12 train.py",
    ],
  );
});

test("renderSnapshotDiff() keeps to the width of a terminal", () => {
  const named = (name: string, machine: MachineSpec) => ({ name, snapshot: attribute(observe(machine)) });
  const after = two([GPUCTL, child], { dead: [{ pid: 900, mib: 4096 }] });
  const text = renderSnapshotDiff(
    diffSnapshots(named("/var/lib/gpuctl/before.json", two([])), named("now", after), TOLERANCE),
    { width: 60, paint: PLAIN },
  );

  assert.deepEqual(text.split("\n").filter((line) => widthOf(line) > 60), []);
});
