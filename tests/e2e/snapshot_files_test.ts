/** What `gpuctl snapshot` writes, and reads back. */
import assert from "node:assert/strict";
import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { NEEDS_ROOT } from "../support/as_nobody.ts";
import { gpuctlCommand, runGpuctl, withRuntime } from "../support/binary.ts";
import { parseDocument } from "../support/documents.ts";
import { type Look, readLook } from "../support/look.ts";
import { runProgram } from "../support/running_program.ts";
import { startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";

const FIXTURES = fileURLToPath(new URL("../fixtures/", import.meta.url));
const VERSION_1 = readFileSync(join(FIXTURES, "snapshots", "version_1.json"), "utf8");
const NOT_SMI =
  "as output of nvidia-smi: it holds no table, CSV with a header, -q, -q -x, -L, pmon or dmon, nor a list of fuser -v or lsof";
const SMI_HINT =
  "  hint: it takes gpuctl snapshots, what nvidia-smi, nvidia-smi -q and -q -x and its CSV queries print, and fuser -v and lsof on /dev/nvidia*\n";

/** Runs a snapshot that is to fail, and gives its status and complaint. Nothing may be on standard output. */
async function complaintOf(...args: string[]): Promise<[number | null, string]> {
  const { status, stdout, stderr } = await runGpuctl(["snapshot", ...args]);
  assert.equal(stdout, "");
  return [status, stderr];
}

test("gpuctl snapshot prints the same look as a table, CSV and JSON, and says that it is simulated in each", async () => {
  await using server = await startSim({ gpus: 2, memory: "80GiB" });
  await server.hold({ scene: "forked-child", bytes: "1GiB" });
  const [table, csv, json, short] = await Promise.all([
    server.run(["snapshot"]),
    server.run(["snapshot", "--format", "csv"]),
    server.run(["snapshot", "--format", "json"]),
    server.run(["snapshot", "--json"]),
  ]);
  assert.deepEqual([table.status, csv.status, json.status, short.status], [0, 0, 0, 0]);
  assert.match(table.stdout, /^SIMULATED SERVER: no real GPU is behind these numbers\n/);
  assert.match(table.stdout, /^ *\d+ +\S+ +0-1 +- +S +inherited +gpuctl sim worker -- forked$/m);
  const [header = "", ...rows] = csv.stdout.trimEnd().split("\n");
  assert.match(header, /^takenAt,host,simulated,kind,gpuUuid,gpuIndex,.*,evidence,advice\r?$/);
  assert.deepEqual(rows.map((row) => row.split(",").slice(2, 4).join(" ")), [
    "true holder",
    "true holder",
    "true ghost",
  ]);
  assert.deepEqual(Object.keys(readLook(json)), Object.keys(readLook(short)));
});

test("gpuctl snapshot -o writes a whole file for its owner alone, and replaces a link instead of following it", async () => {
  await using server = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const aim = folder.write("aim", "untouched");
  const link = join(folder.path, "link.json");
  symlinkSync(aim, link);

  assert.deepEqual(await server.run(["snapshot", "--json", "-o", link]), {
    status: 0,
    signal: null,
    stdout: "",
    stderr: "",
  });
  assert.equal(readFileSync(aim, "utf8"), "untouched");
  assert.deepEqual([lstatSync(link).isFile(), (statSync(link).mode & 0o777).toString(8)], [true, "600"]);
  const look: Look = parseDocument(readFileSync(link, "utf8"));
  assert.equal(look.gpus.length, 1);
  assert.deepEqual(readdirSync(folder.path).sort(), ["aim", "link.json"]);
});

test("gpuctl snapshot -o says why it cannot write, and leaves nothing half-written behind", async () => {
  await using server = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const missing = join(folder.path, "missing", "look.json");
  const complain = async (path: string) => {
    const { status, stdout, stderr } = await server.run(["snapshot", "-o", path]);
    return [status, stdout, stderr];
  };
  assert.deepEqual(await complain(missing), [
    3,
    "",
    `gpuctl: Cannot write ${missing}: there is no such directory\n`,
  ]);
  assert.deepEqual(await complain(folder.path), [
    3,
    "",
    `gpuctl: Cannot write ${folder.path}: it is a directory\n`,
  ]);
  assert.deepEqual(await complain("/dev/full"), [
    3,
    "",
    "gpuctl: Cannot write /dev/full: no space is left on the device\n",
  ]);
  assert.deepEqual(readdirSync(folder.path), []);
});

test("gpuctl snapshot -o is 4 where this user may not write", NEEDS_ROOT, async () => {
  using folder = temporaryFolder();
  chmodSync(folder.path, 0o755);
  const path = join(folder.path, "look.json");
  const ended = await runProgram(
    [
      "setpriv",
      "--reuid=65534",
      "--regid=65534",
      "--clear-groups",
      ...gpuctlCommand(),
      "snapshot",
      "-o",
      path,
    ],
    withRuntime({ env: { GPUCTL_SOURCE: "-", HOME: folder.path }, cwd: "/", input: VERSION_1 }),
  );
  const stderr = `gpuctl: Cannot write ${path}: permission denied\n`;
  assert.deepEqual(ended, { status: 4, signal: null, stdout: "", stderr });
  assert.deepEqual(readdirSync(folder.path), []);
});

test("gpuctl snapshot --source reads its own JSON back as it was, from a file and from standard input", async () => {
  await using server = await startSim({ gpus: 2 });
  await server.hold({ scene: "zombie-leader" });
  using folder = temporaryFolder();
  const { stdout } = await server.run(["snapshot", "--json"]);
  const file = folder.write("look.json", stdout);
  const [fromFile, fromInput] = await Promise.all([
    runGpuctl(["snapshot", "--json", "--source", file]),
    runGpuctl(["snapshot", "--json", "--source", "-"], { input: stdout }),
  ]);
  assert.deepEqual(fromFile, { status: 0, signal: null, stdout, stderr: "" });
  assert.deepEqual(fromInput, fromFile);
});

/** Saved texts of nvidia-smi, and what each says: GPUs by index with MiB in use, and the pids listed. */
const TEXTS: Readonly<Record<string, readonly [gpus: [number, number | null][], pids: number[]]>> = {
  "idle_table.txt": [[[0, 0]], []],
  "idle.xml": [[[0, 0]], []],
  "idle_query.txt": [[[0, 0]], []],
  "ghost.xml": [[[0, 1551], [1, 1551]], [2154]],
  "table_352.txt": [[[0, 531]], []],
  "table_450.txt": [[[0, 350]], []],
  "table_610.txt": [[[0, 815]], [1720, 4556, 28511, 28512]],
  "table_590_mig.txt": [[[0, 16959]], [12249, 12250, 12267]],
  "apps_one_ghost.csv": [[[0, null]], [48213]],
  "gpus_busy_and_empty.csv": [[[0, 0], [1, 0], [2, 0]], []],
  "xml_590_v13.xml": [[[0, 65720]], [116860]],
  "gpus_no_permission.csv": [[[0, null]], []],
  "table_525_err.txt": [[[0, 2021]], []],
};

for (const [name, expected] of Object.entries(TEXTS)) {
  test(`gpuctl snapshot --source reads what nvidia-smi printed: ${name}`, async () => {
    const look = readLook(await runGpuctl(["snapshot", "--json", "--source", join(FIXTURES, "smi", name)]));
    assert.equal(look.source, "file");
    assert.deepEqual([
      look.gpus.map(({ index, memoryUsedBytes }) => [
        index,
        memoryUsedBytes === null ? null : memoryUsedBytes / 1024 ** 2,
      ]),
      look.holders.map(({ pid }) => pid),
    ], expected);
  });
}

test("gpuctl snapshot --source makes holders of what fuser printed, and is 3 as it says nothing of memory", async () => {
  const look = readLook(
    await runGpuctl(["snapshot", "--json", "--source", join(FIXTURES, "smi", "fuser_station.txt")]),
    3,
  );
  assert.deepEqual(look.gpus.map(({ uuid, memoryUsedBytes }) => [uuid, memoryUsedBytes]), [[
    "minor:0",
    null,
  ]]);
  assert.deepEqual(look.holders.map(({ pid, user }) => [pid, user]), [
    [2180, "root"],
    [2284, "root"],
    [2890, "nvidia-persistenced"],
    [3392, "gdm"],
    [3461, "gdm"],
  ]);
});

test("gpuctl snapshot --source refuses a file that is cut off, of another schema, or hostile, and says what is wrong", async () => {
  using folder = temporaryFolder();
  const files = {
    cut: [VERSION_1.slice(0, 300), "as a snapshot: it is not JSON, or not all of it"],
    later: [
      VERSION_1.replace("gpuctl.snapshot/1", "gpuctl.snapshot/2"),
      'as a snapshot: its schema is "gpuctl.snapshot/2", and this version reads gpuctl.snapshot/1',
    ],
    other: [
      VERSION_1.replace("gpuctl.snapshot/1", "gpuctl.diff/1"),
      'as a snapshot: its schema is "gpuctl.diff/1", and this version reads gpuctl.snapshot/1',
    ],
    nothing: ["{}", "as a snapshot: /schema is missing"],
    escape: [
      VERSION_1.replace('"index": 0', '"index": "\\u001b[2J"'),
      'as a snapshot: /gpus/0/index must be a GPU index from 0 to 65535, and is "\\u{1b}[2J"',
    ],
    deep: ['{"a":'.repeat(200_000), "as a snapshot: it is not JSON, or not all of it"],
  } as const;
  for (const [name, [text, why]] of Object.entries(files)) {
    const path = folder.write(name, text);
    assert.deepEqual(await complaintOf("--source", path), [3, `gpuctl: Cannot read ${path} ${why}\n`]);
  }
});

test("gpuctl snapshot --source says why a file cannot be read", async () => {
  using folder = temporaryFolder();
  const empty = folder.write("empty", "");
  const prose = folder.write("prose", "Dear diary\n");
  const missing = join(folder.path, "missing");
  const cases = [
    [empty, ": it is empty\n"],
    [missing, ": there is no such file\n"],
    [folder.path, ": it is a directory\n"],
    ["/dev/zero", ": it is larger than 64 MiB\n"],
    [prose, ` ${NOT_SMI}\n${SMI_HINT}`],
  ] as const;
  for (const [path, why] of cases) {
    assert.deepEqual(await complaintOf("--source", path), [3, `gpuctl: Cannot read ${path}${why}`]);
  }
});
