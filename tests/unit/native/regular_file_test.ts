import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bytes } from "../../../lib/core/units.ts";
import { FileTooLarge } from "../../../lib/native/bounded_file.ts";
import { NoRegularFile, readRegularFile } from "../../../lib/native/regular_file.ts";
import { temporaryFolder } from "../../support/temporary.ts";

test("readRegularFile() reads a file, through links too, up to the last byte that is allowed", async () => {
  using folder = temporaryFolder();
  const path = folder.write("file", "12345");
  symlinkSync(path, join(folder.path, "link"));
  assert.equal(await readRegularFile(path, bytes(5)), "12345");
  assert.equal(await readRegularFile(join(folder.path, "link"), bytes(64)), "12345");
  await assert.rejects(readRegularFile(path, bytes(4)), FileTooLarge);
});

test("readRegularFile() opens no device, waits for no pipe, and takes no folder", async () => {
  using folder = temporaryFolder();
  const pipe = join(folder.path, "pipe");
  execFileSync("mkfifo", [pipe]);
  symlinkSync("/dev/zero", join(folder.path, "endless"));
  for (const path of [pipe, join(folder.path, "endless"), "/dev/null", folder.path]) {
    await assert.rejects(readRegularFile(path, bytes(1024)), NoRegularFile);
  }
});

test("readRegularFile() turns bytes that are no text into something, and says what the system said", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "bytes");
  writeFileSync(path, new Uint8Array([0x61, 0xff, 0x62]));
  assert.equal(await readRegularFile(path, bytes(64)), "a\ufffdb");
  await assert.rejects(readRegularFile(join(folder.path, "nothing"), bytes(64)), { code: "ENOENT" });
});
