import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { pid, uid } from "../../../lib/core/ids.ts";
import { openLibc } from "../../../lib/native/libc.ts";
import { openPopulation } from "../../../lib/proc/population.ts";

const clock = { pause: () => Promise.resolve() };

test("openPopulation() sees this program itself, with its user and its parent", async () => {
  using population = openPopulation(await openLibc(), { clock });
  const own = pid(process.pid);
  const found = await population.readProcess(own);
  assert.ok(population.listPids().includes(own));
  assert.deepEqual(
    [found?.pid, found?.parentPid, found?.uid],
    [own, process.ppid, { ok: true, value: process.getuid?.() }],
  );
  assert.equal(found?.owner.ok && found.owner.value.cgroup.startsWith("/"), true);
});

test("openPopulation() finds nobody under a pid that no process has", async () => {
  using population = openPopulation(await openLibc(), { clock });
  assert.equal(await population.readProcess(pid(4_194_304)), undefined);
});

test("openPopulation() knows the machine's own users and groups", async () => {
  using population = openPopulation(await openLibc(), { clock });
  const [users, groups] = [population.readUsers(), population.readGroups()];
  assert.equal(users.ok && users.value.get(uid(0)), "root");
  assert.equal(groups.ok && groups.value.get("root")?.has(uid(0)), true);
});
