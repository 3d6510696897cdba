/** Jobs of which not everything could be seen, on simulated servers of eight GPUs whose driver fails meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { quoteArguments } from "../../lib/core/text.ts";
import { gpuctlCommand } from "../support/binary.ts";
import { holdCommand, verify } from "../support/isolation_report.ts";
import { type SimulatedServer, startSim } from "../support/sim.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temporary.ts";

/** A job on GPU 5 during which the server gets these faults. */
function breakDuring(sim: SimulatedServer, folder: TemporaryFolder, faults: string): readonly string[] {
  const said = quoteArguments([folder.write("said", "")]);
  const init = [...gpuctlCommand(), "sim", "init", sim.folder, "--faults", folder.write("faults", faults)];
  const script = [
    `${quoteArguments(holdCommand("--gpu", "5", "--for", "20s"))} >${said} & job=$!`,
    `until grep -q ready ${said}; do sleep 0.02; done`,
    `sleep 0.2; ${quoteArguments(init)} >/dev/null; sleep 0.4`,
    "kill $job; wait; exit 0",
  ];
  return ["/bin/sh", "-c", script.join("\n")];
}

interface Fault {
  readonly faults: string;
  readonly problems: readonly RegExp[];
  /** GPUs whose verdict it leaves open. */
  readonly unproven: readonly number[];
}

const ALL = [0, 1, 2, 3, 4, 5, 6, 7];

/** What may go wrong in the middle of a job. */
const FAULTS: Readonly<Record<string, Fault>> = {
  "the processes of another GPU are no longer listed": {
    faults: '[gpu.2]\nprocess-list = "denied"\n',
    problems: [/^GPU 2: its processes were not all listed: no permission$/],
    unproven: [2],
  },
  "the processes of its own GPU are no longer listed": {
    faults: '[gpu.5]\nprocess-list = "denied"\n',
    problems: [/^GPU 5: its processes were not all listed: no permission$/],
    unproven: [5],
  },
  "a list of processes is full": {
    faults: '[gpu.2]\nprocess-list = "truncated"\n',
    problems: [/^GPU 2: its processes were not all listed: not reported \(the driver's list is full\)$/],
    unproven: [2],
  },
  "another GPU falls off the bus": {
    faults: "[gpu.2]\nlost = true\n",
    problems: [
      /^The driver counts a GPU that could not be opened: the GPU has fallen off the bus \(GPU is lost\)$/,
      /^GPU 2: it was missing in \d+ of \d+ looks$/,
    ],
    unproven: ALL,
  },
  "its own GPU falls off the bus": {
    faults: "[gpu.5]\nlost = true\n",
    problems: [
      /^The driver counts a GPU that could not be opened: the GPU has fallen off the bus \(GPU is lost\)$/,
      /^GPU 5: it was missing in \d+ of \d+ looks$/,
    ],
    unproven: ALL,
  },
  "the driver hangs": {
    faults: "hang = true\n",
    problems: [
      /^\d+ of \d+ looks were not answered: no answer in time \(the driver gave no answer within 1 s\)$/,
    ],
    unproven: ALL,
  },
};

for (const [name, { faults, problems, unproven }] of Object.entries(FAULTS)) {
  test(`verify-isolation is 3 for a job that keeps to its GPU when ${name} meanwhile`, async () => {
    await using sim = await startSim();
    using folder = temporaryFolder();
    const { status, report } = await verify(sim, breakDuring(sim, folder, faults), {
      options: ["--gpu", "5", "--deadline", "1s"],
    });

    assert.deepEqual([status, report.verdict, report.violations], [3, "unproven", []]);
    assert.equal(report.problems.length, problems.length, JSON.stringify(report.problems));
    for (const [place, problem] of problems.entries()) {
      assert.match(report.problems[place]?.message ?? "", problem);
    }
    const open = report.gpus.filter(({ verdict }) => verdict === "unproven").map(({ index }) => index);
    assert.deepEqual(open, unproven);
  });

  test(`verify-isolation is 10 for a job that was seen elsewhere before it happens that ${name}`, async () => {
    await using sim = await startSim();
    using folder = temporaryFolder();
    const { status, report } = await verify(sim, breakDuring(sim, folder, faults), {
      options: ["--gpu", "3", "--deadline", "1s"],
    });

    assert.deepEqual([status, report.verdict], [10, "violated"]);
    assert.deepEqual(report.violations.map(({ index, cause }) => [index, cause]), [[5, "variable-missing"]]);
  });
}

test("verify-isolation is 3 when memory comes up on a GPU whose processes are not listed, and says how much", async () => {
  await using sim = await startSim({ faults: '[gpu.2]\nprocess-list = "denied"\n' });
  const { status, report } = await verify(sim, holdCommand("--gpu", "2", "--for", "500ms"), {
    options: ["--gpu", "5"],
  });

  assert.deepEqual([status, report.verdict, report.violations], [3, "unproven", []]);
  assert.deepEqual(report.suspicions.map(({ index, growthBytes }) => [index, growthBytes]), [
    [2, (518 + 1024) * 1024 ** 2],
  ]);
});

test("verify-isolation --pid is 3 for a job that keeps to its GPU while another is not listed, lost or silent", async () => {
  await using sim = await startSim();
  await using job = await sim.hold({ gpu: 5 });
  using folder = temporaryFolder();
  const look = async (faults: string) => {
    await sim.run(["sim", "init", sim.folder, "--faults", folder.write("faults", faults)]);
    const pid = String(job.readyPid);
    return (await sim.run(["verify-isolation", "--gpu", "5", "--pid", pid, "--deadline", "1s"])).status;
  };

  assert.equal(await look(""), 0);
  assert.equal(await look('[gpu.2]\nprocess-list = "denied"\n'), 3);
  assert.equal(await look('[gpu.2]\nprocess-list = "truncated"\n'), 3);
  assert.equal(await look("[gpu.2]\nlost = true\n"), 3);
  assert.equal(await look("[gpu.5]\nlost = true\n"), 3);
  assert.equal(await look("hang = true\n"), 3);
  assert.equal(await look(""), 0);
});
