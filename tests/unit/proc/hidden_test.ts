import { test } from "node:test";
import assert from "node:assert/strict";
import { findProcMount } from "../../../lib/proc/hidden.ts";

const LINE = "24 30 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:13 - proc proc rw";

test("findProcMount() reads the option in every kernel's words", () => {
  assert.deepEqual(findProcMount(`${LINE},hidepid=2,gid=27\n`, "/proc"), { hidepid: "2", group: 27 });
  assert.deepEqual(findProcMount(`${LINE},gid=27,hidepid=invisible\n`, "/proc"), {
    hidepid: "invisible",
    group: 27,
  });
  assert.deepEqual(findProcMount(`${LINE}\n`, "/proc"), { hidepid: undefined, group: 0 });
});

test("findProcMount() takes the mount on top, of proc, at that very place", () => {
  const text = `${LINE},hidepid=2\n${LINE.replace("/proc ", "/proc/fs ")}\n${
    LINE.replace("proc proc", "tmpfs tmpfs")
  },hidepid=4\n${LINE},hidepid=1\n`;
  assert.deepEqual(findProcMount(text, "/proc"), { hidepid: "1", group: 0 });
  assert.equal(findProcMount(text, "/other"), undefined);
});
