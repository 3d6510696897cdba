import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { test } from "node:test";
import { GpuctlError } from "../../../lib/core/errors.ts";
import { realOutputFiles } from "../../../lib/world/output_files.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const { checkPlace, openLines } = realOutputFiles;

test("checkPlace() leaves a good place as it found it", () => {
  using folder = temporaryFolder();
  const path = folder.write("report.json", "yesterday's");
  checkPlace(path);
  checkPlace(`${folder.path}/new.json`);

  assert.equal(readFileSync(path, "utf8"), "yesterday's");
  assert.deepEqual(readdirSync(folder.path), ["report.json"]);
});

test("checkPlace() takes a device as it is", () => {
  checkPlace("/dev/null");
});

test("checkPlace() refuses a folder, and a place in a folder that is not there", () => {
  using folder = temporaryFolder();
  assert.throws(() => checkPlace(folder.path), {
    name: "GpuctlError",
    message: `Cannot write ${folder.path}: it is a directory`,
  });
  assert.throws(() => checkPlace(`${folder.path}/none/report`), {
    name: "GpuctlError",
    failure: "unavailable",
    message: `Cannot write ${folder.path}/none/report: there is no such directory`,
  });
});

test("openLines() begins anew, for its owner's eyes only", () => {
  using folder = temporaryFolder();
  const path = folder.write("samples", "yesterday's\n");
  chmodSync(path, 0o644);
  {
    using lines = openLines(path);
    lines.append("one");
    lines.append("two");
  }

  assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("openLines() follows no link that somebody has put there", () => {
  using folder = temporaryFolder();
  const victim = folder.write("victim", "untouched");
  symlinkSync(victim, `${folder.path}/samples`);
  {
    using lines = openLines(`${folder.path}/samples`);
    lines.append("one");
  }

  assert.equal(readFileSync(victim, "utf8"), "untouched");
});

test("openLines() says when a line cannot be written", () => {
  using full = openLines("/dev/full");

  assert.throws(() => full.append("one"), {
    name: "GpuctlError",
    message: "Cannot write /dev/full: no space is left on the device",
  });
});

test("openLines() refuses a folder", () => {
  using folder = temporaryFolder();
  mkdirSync(`${folder.path}/samples`);

  assert.throws(() => openLines(`${folder.path}/samples`), GpuctlError);
});
