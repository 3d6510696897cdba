import { test } from "node:test";
import assert from "node:assert/strict";
import { uid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { parsePasswd, readUserNames } from "../../../lib/proc/users.ts";
import { temporaryFolder } from "../../support/temporary.ts";

test("parsePasswd() takes the first name of each user and passes over what is no entry", () => {
  const text = "root:x:0:0:root:/root:/bin/sh\n# a comment\n+::::::\ntoor:x:0:0::/:\nnouid:x:x:1::/:\n" +
    "alice:x:1000:1000:A,,:/home/alice:/bin/sh\nbig:x:4294967296:1::/:\n";
  assert.deepEqual(parsePasswd(text), new Map([[uid(0), "root"], [uid(1000), "alice"]]));
});

test("readUserNames() says that a user is not on the list", () => {
  using folder = temporaryFolder();
  const path = folder.write("passwd", "alice:x:1000:1000::/:\n");
  const names = readUserNames(path);
  assert.deepEqual(names(uid(1000)), known("alice"));
  assert.deepEqual(names(uid(7)), absent("not-reported", `user 7 is not in ${path}`));
});

test("readUserNames() says the same where there is no list", () => {
  assert.deepEqual(
    readUserNames("/nowhere/passwd")(uid(0)),
    absent("not-reported", "user 0 is not in /nowhere/passwd"),
  );
});
