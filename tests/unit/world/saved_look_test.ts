import assert from "node:assert/strict";
import { test } from "node:test";
import { absent, known } from "../../../lib/core/reading.ts";
import { parseSnapshot } from "../../../lib/model/decode.ts";
import { renderSnapshotJson } from "../../../lib/render/snapshot_json.ts";
import { readSavedLook } from "../../../lib/world/saved_look.ts";
import { readSmiFixture } from "../../support/smi_fixtures.ts";
import { temporaryFolder } from "../../support/temporary.ts";

function read(text: string) {
  using folder = temporaryFolder();
  return readSavedLook(folder.write("saved", text));
}

/** Each holder with its user, its name and what it has open and mapped. */
function holdersIn(text: string) {
  return read(text).holders.map(({ pid, user, name, devices }) => [
    pid,
    user.ok ? user.value : undefined,
    name,
    devices.map(({ gpu, isOpen, isMapped }) => [gpu, isOpen, isMapped]),
  ]);
}

test("readSavedLook() makes holders of what fuser printed", () => {
  const node = ["minor:0", known(true), known(true)];
  assert.deepEqual(holdersIn(readSmiFixture("fuser_workers.txt")), [
    [21877, "user1", "python", [node]],
    [21878, "user1", "python", [node]],
    [21879, "user1", "python", [node]],
  ]);
});

test("readSavedLook() makes holders of what lsof printed, of which no mapping is known but from its rows", () => {
  assert.deepEqual(holdersIn(readSmiFixture("lsof_daemon.txt")), [
    [5135, "root", "geopmd", [["minor:0", known(true), known(false)]]],
  ]);
});

test("readSavedLook() puts fuser's processes to the GPUs of an nvidia-smi -q -x in the same text", () => {
  const xml = readSmiFixture("idle.xml");
  const { gpus, holders, problems } = read(
    `$ fuser -v /dev/nvidia*\n${readSmiFixture("fuser_workers.txt")}\n${xml}`,
  );
  const [account] = gpus;
  assert.deepEqual(account?.gpu.minor, known(0));
  assert.deepEqual(
    holders.map(({ pid, devices }) => [pid, devices]),
    [21877, 21878, 21879].map((pid) => [pid, [{
      gpu: account?.gpu.uuid,
      contextBytes: known(0),
      isOpen: known(true),
      isMapped: known(true),
    }]]),
  );
  assert.deepEqual(problems, []);
});

test("readSavedLook() keeps fuser's processes beside a table, which does not say which GPU their node is", () => {
  const { gpus, holders, problems } = read(
    `${readSmiFixture("idle_table.txt")}\n${readSmiFixture("fuser_cut_command.txt")}`,
  );
  assert.deepEqual(gpus.length, 1);
  assert.deepEqual(holders.map(({ pid, devices }) => [pid, devices.map(({ gpu }) => gpu)]), [[396079, [
    "minor:0",
  ]]]);
  assert.ok(problems.some(({ subject }) => subject === "device nodes"));
});

test("readSavedLook() takes a moment without a zone for none, says what it was, and keeps that in JSON", () => {
  const reason = absent("not-reported", "2026-07-14 09:00:44.742 in a time zone that the text does not name");
  const look = read("timestamp, index, memory.used [MiB]\n2026/07/14 09:00:44.742, 0, 5 MiB\n");
  assert.deepEqual(look.takenAt, reason);
  const json = renderSnapshotJson(look);
  assert.equal(JSON.parse(json).takenAt, null);
  assert.deepEqual(parseSnapshot(json), look);
});

test("readSavedLook() does not say that nobody holds what an empty list leaves unexplained", () => {
  const idle = readSmiFixture("idle.xml");
  const busy = idle.replace("<used>0 MiB</used>", "<used>41000 MiB</used>");
  const causes = [idle, busy].map((text) => read(text).gpus.map(({ cause }) => cause));
  assert.deepEqual(causes, [[undefined], [
    "not every process could be looked at; run as root on the host to see who has the GPU open",
  ]]);
});

test("readSavedLook() reads no moment where a text has none", () => {
  const look = read(readSmiFixture("fuser_workers.txt"));
  assert.deepEqual(look.takenAt, absent("not-reported", "a saved text does not say"));
  assert.deepEqual(parseSnapshot(renderSnapshotJson(look)), look);
});

test("readSavedLook() takes contexts that add up to more than 2^53 bytes for untrue", () => {
  const { holders } = read(
    "|    0   12      C   a   8589934591MiB |\n|    0   12      G   a   8589934591MiB |\n",
  );
  assert.deepEqual(
    holders[0]?.devices[0]?.contextBytes,
    absent("implausible", "its contexts add up to more than any GPU has"),
  );
});

test("readSavedLook() says once what is wrong with a text", () => {
  using folder = temporaryFolder();
  const prose = folder.write("$& prose", "Dear diary\n");
  assert.throws(() => readSavedLook(prose), {
    name: "GpuctlError",
    failure: "unavailable",
    message:
      `Cannot read ${prose} as output of nvidia-smi: it holds no table, CSV with a header, -q, -q -x, -L, pmon or dmon, nor a list of fuser -v or lsof`,
    hint:
      "it takes gpuctl snapshots, what nvidia-smi, nvidia-smi -q and -q -x and its CSV queries print, and fuser -v and lsof on /dev/nvidia*",
  });
  const cut = folder.write("cut.xml", readSmiFixture("idle.xml").slice(0, 3000));
  assert.throws(() => readSavedLook(cut), {
    message:
      /^Cannot read \S+cut\.xml as output of nvidia-smi -q -x: unclosed tag: \w+: line \d+, column \d+$/,
  });
});
