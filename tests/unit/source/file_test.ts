import { execFileSync } from "node:child_process";
import { closeSync, ftruncateSync, openSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import assert from "node:assert/strict";
import { encodeSnapshot } from "../../../lib/model/encode.ts";
import { renderJson } from "../../../lib/render/json.ts";
import {
  isSnapshotText,
  MOST_FILE_BYTES,
  readFileText,
  readSnapshotFile,
  toSnapshot,
} from "../../../lib/source/file.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { WORLDS } from "../../support/worlds.ts";

const SAVED = renderJson(encodeSnapshot(WORLDS["eight-gpus"]));

test("readSnapshotFile() gives the snapshot that was saved", () => {
  using folder = temporaryFolder();
  assert.deepEqual(readSnapshotFile(folder.write("a.json", SAVED)), WORLDS["eight-gpus"]);
});

test("readSnapshotFile() passes over a byte order mark", () => {
  using folder = temporaryFolder();
  assert.deepEqual(readSnapshotFile(folder.write("a.json", `\ufeff${SAVED}`)), WORLDS["eight-gpus"]);
});

test("readFileText() puts a long file together in order", () => {
  using folder = temporaryFolder();
  const text = Array.from({ length: 50_000 }, (_, line) => `line ${line} 訓練\n`).join("");
  assert.equal(readFileText(folder.write("long.txt", text)), text);
});

test("readFileText() reads all of standard input for -, however it comes", () => {
  const script = `import { readFileText } from ${
    JSON.stringify(import.meta.resolve("../../../lib/source/file.ts"))
  };
import { writeSync } from "node:fs";
writeSync(1, String(readFileText("-").length));`;
  using folder = temporaryFolder();
  const path = folder.write("read.ts", script);
  const inRepository = {
    cwd: new URL("../../../", import.meta.url),
    input: "x".repeat(300_000),
    encoding: "utf8",
  } as const;
  const words = "Deno" in globalThis ? ["run", "-A", "--no-check", "--config", "deno.json", path] : [path];
  assert.equal(execFileSync(process.execPath, words, inRepository), "300000");
});

test("readSnapshotFile() refuses what is no snapshot, and says which value", () => {
  using folder = temporaryFolder();
  const path = folder.write("a.json", SAVED.replace('"simulated": false', '"simulated": 0'));
  assert.throws(() => readSnapshotFile(path), {
    name: "GpuctlError",
    failure: "unavailable",
    message: `Cannot read ${path} as a snapshot: /simulated must be true or false, and is 0`,
  });
});

test("readSnapshotFile() refuses a file that was cut", () => {
  using folder = temporaryFolder();
  const path = folder.write("a.json", SAVED.slice(0, 1000));
  assert.throws(() => readSnapshotFile(path), {
    name: "GpuctlError",
    failure: "unavailable",
    message: `Cannot read ${path} as a snapshot: it is not JSON, or not all of it`,
  });
});

test("toSnapshot() refuses a text with more objects and lists than any snapshot before it parses it", () => {
  for (const text of ['{"a":'.repeat(2_000_001), `{"a":[${"{},".repeat(2_000_000)}{}]}`]) {
    assert.throws(() => toSnapshot(text, "a.json"), {
      name: "GpuctlError",
      failure: "unavailable",
      message: "Cannot read a.json as a snapshot: it has more objects and lists than any",
    });
  }
});

test("readFileText() refuses a file that is too large before it reads any of it", () => {
  using folder = temporaryFolder();
  const path = folder.write("a.json", "");
  const file = openSync(path, "w");
  ftruncateSync(file, MOST_FILE_BYTES + 1);
  closeSync(file);
  assert.throws(() => readFileText(path), {
    name: "GpuctlError",
    failure: "unavailable",
    message: `Cannot read ${path}: it is larger than 64 MiB`,
  });
});

test("readFileText() stops at its limit where the size is not known beforehand", () => {
  assert.throws(() => readFileText("/dev/zero"), {
    name: "GpuctlError",
    failure: "unavailable",
    message: "Cannot read /dev/zero: it is larger than 64 MiB",
  });
});

test("readFileText() says what is wrong with a path", () => {
  using folder = temporaryFolder();
  const states: readonly [string, string][] = [
    [join(folder.path, "none.json"), "there is no such file"],
    [join(folder.write("file", "x"), "below"), "its path leads through something that is no directory"],
    [folder.path, "it is a directory"],
    [folder.write("empty", "\n  \n"), "it is empty"],
  ];
  for (const [path, state] of states) {
    assert.throws(() => readFileText(path), {
      name: "GpuctlError",
      failure: "unavailable",
      message: `Cannot read ${path}: ${state}`,
    });
  }
});

test("readFileText() keeps the text of names that are not UTF-8", () => {
  using folder = temporaryFolder();
  assert.equal(readFileText(folder.write("a.txt", new Uint8Array([0x61, 0xff, 0x62]))), "a\ufffdb");
});

test("isSnapshotText() tells our files from what nvidia-smi prints", () => {
  assert.deepEqual(
    [SAVED, ' \n{"schema":1}', "index, name\n0, NVIDIA H200", "<?xml version=", "+-----+", "==NVSMI LOG=="]
      .map(isSnapshotText),
    [true, true, false, false, false, false],
  );
});
