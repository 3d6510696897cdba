import { test } from "node:test";
import { chmodSync } from "node:fs";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { type Pid, pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import type { ProcessScan } from "../../../lib/model/observation.ts";
import { openLibc } from "../../../lib/native/libc.ts";
import { type CompletionOptions, openProcessScanner } from "../../../lib/proc/scan.ts";
import { openStage } from "../../support/actor.ts";
import { asNobody, NEEDS_ROOT, NOBODY } from "../../support/as_nobody.ts";
import { GPU_NODE, STAND_INS, standInRecogniser, UVM_NODE } from "../../support/proc_calls.ts";
import { procTree, type TreeProcess } from "../../support/proc_tree.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const FOREVER = milliseconds(Number.MAX_SAFE_INTEGER);
const { gpu, uvm } = STAND_INS;
const JOB = "/system.slice/slurmstepd.scope/job_42/step_0";

interface ScanOptions extends Partial<CompletionOptions> {
  readonly procRoot?: string;
  readonly monotonic?: () => number;
}

/** Both steps, one after the other. */
async function scan({ procRoot, monotonic, ...options }: ScanOptions = {}): Promise<ProcessScan> {
  using libc = await openLibc();
  const clock = {
    monotonic: () => milliseconds(monotonic?.() ?? 0),
    pause: () => new Promise<void>(() => {}),
  };
  const recogniser = standInRecogniser;
  using scanner = openProcessScanner({ libc, recogniser, clock, ...procRoot !== undefined && { procRoot } });
  const deadline = options.deadline ?? FOREVER;
  const holders = await scanner.scanHolders(deadline);
  return await scanner.complete(holders, {
    deadline,
    listed: [],
    helpers: [],
    withAllMappings: false,
    ...options,
  });
}

/** A machine of plain files, with this program under PID 1. */
async function scanTree(processes: readonly TreeProcess[], options: ScanOptions = {}): Promise<ProcessScan> {
  using tree = procTree([{ pid: 500 }, { pid: 1, parent: 0, comm: "systemd" }, ...processes]);
  return await scan({ ...options, procRoot: tree.path });
}

test("ProcessScanner joins descriptors and mappings, and reads everybody's ancestors", async () => {
  using stage = openStage();
  await using actor = await stage.start(["open", gpu, "open", uvm, "map", uvm]);
  const { uses, processes, sharedWith } = await scan();
  assert.deepEqual(uses.get(actor.identity.pid), [
    { node: GPU_NODE, descriptors: 1, mappings: known(0) },
    { node: UVM_NODE, descriptors: 1, mappings: known(1) },
  ]);
  const present = [actor.pid, process.pid, process.ppid, 1].map((id) => processes.has(pid(id)));
  assert.deepEqual(present, [true, true, true, true]);
  assert.equal(sharedWith.has(actor.identity.pid), false);
});

test("ProcessScanner finds who shares inherited descriptors, dead main threads too", NEEDS_ROOT, async () => {
  using stage = openStage();
  await using parent = await stage.start(["open", uvm, "end-main", "child"]);
  await using other = await stage.start(["open", uvm]);
  const { sharedWith } = await scan();
  const child = pid(parent.child ?? NaN);
  assert.deepEqual(sharedWith.get(child), known([parent.identity.pid]));
  assert.deepEqual(sharedWith.get(parent.identity.pid), known([child]));
  assert.deepEqual(sharedWith.get(other.identity.pid), known([]));
});

test("ProcessScanner adds whom the driver lists, and leaves out who is gone", async () => {
  using stage = openStage();
  await using listed = await stage.start(["map", uvm]);
  const gone = pid(4_194_304);
  const { uses, processes } = await scan({ listed: [listed.identity.pid, gone] });
  assert.deepEqual(uses.get(listed.identity.pid), [{ node: UVM_NODE, descriptors: 0, mappings: known(1) }]);
  assert.equal(processes.has(gone), false);
});

test("ProcessScanner reads the mappings of a listed process that it has met as an ancestor", async () => {
  using stage = openStage();
  await using parent = await stage.start(["map", uvm, "open", gpu, "child", "close", "last"]);
  const { uses } = await scan({ listed: [parent.identity.pid] });
  assert.equal(uses.has(pid(parent.child ?? NaN)), true);
  assert.deepEqual(uses.get(parent.identity.pid), [{ node: UVM_NODE, descriptors: 0, mappings: known(1) }]);
});

test("ProcessScanner looks through all mappings only when asked to", async () => {
  using stage = openStage();
  await using mapper = await stage.start(["map", uvm]);
  const [without, withAll] = [await scan(), await scan({ withAllMappings: true })];
  assert.equal(without.uses.has(mapper.identity.pid), false);
  assert.deepEqual(withAll.uses.get(mapper.identity.pid), [
    { node: UVM_NODE, descriptors: 0, mappings: known(1) },
  ]);
  assert.equal(withAll.processes.has(mapper.identity.pid), true);
});

test("ProcessScanner knows a node in a container's own /dev by who has it open", NEEDS_ROOT, async () => {
  using stage = openStage();
  using folder = temporaryFolder();
  const node = `${folder.path}/renamed`;
  assert.equal(spawnSync("mknod", [node, "c", "1", "5"]).status, 0);
  await using actor = await stage.start(["open", node, "map", node]);
  const { uses } = await scan();
  assert.deepEqual(uses.get(actor.identity.pid), [{ node: UVM_NODE, descriptors: 1, mappings: known(1) }]);
});

test("ProcessScanner names its own helpers", async () => {
  const { reader } = await scan({ helpers: [pid(4_000_000)] });
  assert.deepEqual(reader.ownPids, [pid(process.pid), pid(4_000_000)]);
});

test("ProcessScanner reads the supervisors when a holder's job has one", async () => {
  const holder = { pid: 30, files: ["/dev/null", gpu], cgroup: `${JOB}/user/task_0` };
  const steward = { pid: 20, comm: "slurmstepd", argv: ["slurmstepd: [42.0]"], cgroup: `${JOB}/slurm` };
  const { supervisors, uses } = await scanTree([holder, steward]);
  assert.deepEqual([...uses.keys()], [pid(30)]);
  assert.deepEqual(supervisors.ok && supervisors.value.map(({ pid, argv }) => ({ pid, argv })), [
    { pid: pid(20), argv: known(["slurmstepd: [42.0]"]) },
  ]);
});

test("ProcessScanner knows when none of the supervisors lives, and when nobody has one", async () => {
  const holder = { pid: 30, files: [gpu] };
  assert.deepEqual((await scanTree([{ ...holder, cgroup: JOB }])).supervisors, known([]));
  assert.deepEqual((await scanTree([holder])).supervisors, absent("not-asked"));
});

test("ProcessScanner says nothing of supervisors whose arguments it cannot read", async () => {
  const steward = { pid: 20, comm: "slurmstepd", argv: ["", ""] };
  const { supervisors } = await scanTree([{ pid: 30, files: [gpu], cgroup: JOB }, steward]);
  assert.deepEqual(supervisors, absent("erased"));
});

test("ProcessScanner stops at its deadline and says so, in either step", async () => {
  const holders = [31, 32, 33].map((id) => ({ pid: id, files: [gpu], cgroup: JOB }));
  const covers = async (deadline: number) => {
    let now = 0;
    return await scanTree(holders, { monotonic: () => now++, deadline: milliseconds(deadline) });
  };
  const [early, later] = [await covers(2), await covers(6)];
  assert.deepEqual(early.coverage, {
    processes: 3,
    unreadable: 0,
    ownUnreadable: [],
    cutShort: absent("timed-out", "3 of 5 processes were looked at"),
  });
  assert.deepEqual(later.coverage, {
    processes: 5,
    unreadable: 0,
    ownUnreadable: [],
    cutShort: absent("timed-out", "2 of 3 processes were read"),
  });
  assert.deepEqual([early.supervisors.ok, later.supervisors.ok], [false, false]);
});

test("ProcessScanner says that it may not look into other users' processes", NEEDS_ROOT, async () => {
  using stage = openStage();
  using libc = await openLibc();
  await using actor = await stage.start(["open", gpu, "map", uvm]);
  const { uses, processes, coverage } = await asNobody(libc, () => scan({ listed: [actor.identity.pid] }));
  assert.equal(uses.has(actor.identity.pid), false);
  assert.equal(processes.get(actor.identity.pid)?.comm, "actor");
  assert.ok(coverage.unreadable >= 1);
});

test(
  "ProcessScanner tells a user's own processes from other people's where it may look into neither",
  NEEDS_ROOT,
  async () => {
    using libc = await openLibc();
    using tree = procTree([
      { pid: 500, user: NOBODY },
      { pid: 31, user: NOBODY, isClosed: true },
      { pid: 32, user: 1000, isClosed: true },
      { pid: 33, user: NOBODY },
    ]);
    chmodSync(tree.path, 0o755);
    const ofUser = await asNobody(libc, () => scan({ procRoot: tree.path }));
    assert.deepEqual(ofUser.coverage, { processes: 4, unreadable: 2, ownUnreadable: [pid(31)] });
  },
);

test("ProcessScanner says that a mount option hides processes", NEEDS_ROOT, async () => {
  using stage = openStage();
  using libc = await openLibc();
  using folder = temporaryFolder();
  await using actor = await stage.start(["open", gpu]);
  const listed: Pid[] = [actor.identity.pid];
  const mounted = spawnSync("mount", ["-t", "proc", "-o", "hidepid=invisible", "proc", folder.path]);
  assert.equal(mounted.status, 0, String(mounted.stderr));
  try {
    spawnSync("chmod", ["755", folder.path]);
    const { coverage, processes } = await asNobody(libc, () => scan({ procRoot: folder.path, listed }));
    assert.deepEqual(coverage.cutShort, absent("hidden", `${folder.path} is mounted with hidepid=invisible`));
    assert.equal(processes.has(actor.identity.pid), false);
  } finally {
    spawnSync("umount", ["-l", folder.path]);
  }
});
