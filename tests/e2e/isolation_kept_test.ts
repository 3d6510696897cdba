/** Jobs that stay on their GPUs, by every way in which one is told of them, on simulated servers of eight GPUs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { quoteArguments } from "../../lib/core/text.ts";
import { DIVIDED, MIG_A, MIG_B, MIXED, uuid } from "../support/broken_jobs.ts";
import { holdCommand, verify } from "../support/isolation_report.ts";
import { startSim } from "../support/sim.ts";

interface RightJob {
  readonly faults?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What the job was given: GPU 5 unless told. */
  readonly given?: string;
  readonly pin?: true;
  /** Words of `sim hold`. */
  readonly words?: readonly string[];
}

/** The jobs by how they know their GPUs. */
const RIGHT: Readonly<Record<string, RightJob>> = {
  "by number": { env: { CUDA_VISIBLE_DEVICES: "5" } },
  "by number, with blanks and letters about it": { env: { CUDA_VISIBLE_DEVICES: "\t05x" } },
  "by number, in another order": {
    given: "2,3",
    env: { CUDA_VISIBLE_DEVICES: "3,2" },
    words: ["--gpu", "0,1"],
  },
  "by number, before the list ends": { env: { CUDA_VISIBLE_DEVICES: "5,-1,0" } },
  "by number, as nvidia-smi counts": {
    faults: MIXED,
    given: "0",
    env: { CUDA_VISIBLE_DEVICES: "0", CUDA_DEVICE_ORDER: "PCI_BUS_ID" },
  },
  "by the longest value that CUDA reads": { env: { CUDA_VISIBLE_DEVICES: `5${"x".repeat(2623)}` } },
  "by UUID": { env: { CUDA_VISIBLE_DEVICES: uuid(5) } },
  "by UUID, where the models differ": {
    faults: MIXED,
    given: "1",
    env: { CUDA_VISIBLE_DEVICES: uuid(1), CUDA_DEVICE_ORDER: "FASTEST_FIRST" },
  },
  "by the beginning of a UUID": { env: { CUDA_VISIBLE_DEVICES: "GPU-51300005" } },
  "by the UUID of a MIG device": { faults: DIVIDED, given: MIG_B, env: { CUDA_VISIBLE_DEVICES: MIG_B } },
  "by the path of a MIG device": {
    faults: DIVIDED,
    given: MIG_B,
    env: { CUDA_VISIBLE_DEVICES: `MIG-${uuid(3)}/2/0` },
  },
  "by the number of a GPU whose first MIG device is its own": {
    faults: DIVIDED,
    given: MIG_A,
    env: { CUDA_VISIBLE_DEVICES: "3" },
  },
  "by MIG device, where it has the whole GPU": {
    faults: DIVIDED,
    given: "3",
    env: { CUDA_VISIBLE_DEVICES: MIG_B },
  },
  "by its program, in time": { words: ["--set-visible-devices", "5"] },
  "by its program, of all that it sees": { words: ["--gpu", "5"] },
  "by --pin": { env: { CUDA_VISIBLE_DEVICES: "0" }, pin: true },
  "by --pin, several": { given: "6,0-1", pin: true, words: ["--gpu", "0,1,2"] },
  "by --pin, a MIG device": { faults: DIVIDED, given: MIG_B, pin: true },
  "by --pin, where the models differ": { faults: MIXED, given: "1", pin: true },
  "and wipes its environment": {
    env: { CUDA_VISIBLE_DEVICES: "5" },
    words: ["--erase-environment"],
  },
  "as a client of MPS": { faults: "[gpu.5]\nmps = true\n", env: { CUDA_VISIBLE_DEVICES: "5" } },
  "of several ranks": {
    given: "4-7",
    env: { CUDA_VISIBLE_DEVICES: "4,5,6,7" },
    words: ["--ranks", "4", "--for", "1500ms"],
  },
  "of ranks that reach each other's": {
    given: "4-7",
    env: { CUDA_VISIBLE_DEVICES: "4,5,6,7" },
    words: ["--ranks", "4", "--peer-contexts", "--for", "1500ms"],
  },
};

for (const [name, { faults, env = {}, given = "5", pin, words = [] }] of Object.entries(RIGHT)) {
  test(`verify-isolation is 0 for a job that knows its GPUs ${name}`, async () => {
    await using sim = await startSim({ ...faults !== undefined && { faults } });
    const { status, stderr, report } = await verify(sim, holdCommand("--for", "500ms", ...words), {
      env,
      options: ["--gpu", given, ...pin ? ["--pin"] : []],
    });
    assertKept(report);
    assert.deepEqual([status, stderr], [0, ""]);
  });
}

test("verify-isolation is 0 for ranks that each see one GPU", async () => {
  await using sim = await startSim();
  const hold = quoteArguments(holdCommand("--for", "600ms"));
  const script =
    `for rank in 0 1 2 3 4 5 6 7; do LOCAL_RANK=$rank CUDA_VISIBLE_DEVICES=$rank ${hold} & done; wait`;
  const { status, report } = await verify(sim, ["/bin/sh", "-c", script], { options: ["--gpu", "0-7"] });
  assertKept(report);
  assert.equal(status, 0);
});

test("verify-isolation --pin is 0 for a job that was given no GPU and uses none", async () => {
  await using sim = await startSim();
  const { status, stdout, report } = await verify(
    sim,
    ["/bin/sh", "-c", 'sleep 0.2; printf %s "$CUDA_VISIBLE_DEVICES"'],
    { options: ["--gpu", "none", "--pin"], env: { CUDA_VISIBLE_DEVICES: "3" } },
  );
  assert.deepEqual([status, stdout, report.verdict, report.violations], [0, "-1", "isolated", []]);
});

/** Isolated, and not for want of a look: the job was seen on its GPUs. */
function assertKept(
  { verdict, violations, suspicions, problems, notes }: Awaited<ReturnType<typeof verify>>["report"],
) {
  assert.deepEqual([verdict, violations, suspicions, problems], ["isolated", [], [], []]);
  assert.ok(!notes.some((note) => note.includes("was not put to the test")), notes.join("\n"));
}
