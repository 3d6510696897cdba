import assert from "node:assert/strict";
import { test } from "node:test";
import { parseGroups } from "../../../lib/proc/groups.ts";

const PASSWD = [
  "root:x:0:0:root:/root:/bin/bash",
  "alice:x:1000:1000:,:/home/alice:/bin/bash",
  "bob:x:1001:100::/home/bob:/bin/sh",
  "+nis::::::",
  "broken",
].join("\n");

function groupsOf(group: string): Record<string, readonly number[]> {
  return Object.fromEntries(
    [...parseGroups({ group, passwd: PASSWD })].map(([name, uids]) => [name, [...uids]]),
  );
}

test("parseGroups() has whom a group lists and whose own group it is", () => {
  assert.deepEqual(groupsOf("users:x:100:alice\nvideo:x:44:alice,bob\nempty:x:7:\n"), {
    users: [1000, 1001],
    video: [1000, 1001],
    empty: [],
  });
});

test("parseGroups() passes over lines of another form and members who are nobody here", () => {
  assert.deepEqual(groupsOf("+\nbroken\nx:y\na:x:5:carol,root:z\ng:x:5:carol,root"), { g: [0] });
});
