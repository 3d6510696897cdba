import { test } from "node:test";
import assert from "node:assert/strict";
import { absent, known } from "../../../../lib/core/reading.ts";
import { findLibraries, LIBRARY_PATHS } from "../../../../lib/source/nvml/library.ts";

function machineWith(...paths: readonly string[]): (path: string) => boolean {
  return (path) => paths.includes(path);
}

test("LIBRARY_PATHS are absolute and name the driver's library alone", () => {
  assert.deepEqual(LIBRARY_PATHS.filter((path) => !/^\/[^.]*\/libnvidia-ml\.so\.1$/.test(path)), []);
});

test("findLibraries() does not look for a library when no driver is loaded", () => {
  const asked: string[] = [];
  const found = findLibraries((path) => {
    asked.push(path);
    return path.endsWith(".so.1");
  });
  assert.deepEqual(
    found,
    absent(
      "not-supported",
      "no NVIDIA driver is loaded: there is no /proc/driver/nvidia/version, no /sys/module/nvidia, no /dev/dxg",
    ),
  );
  assert.deepEqual(asked.filter((path) => path.endsWith(".so.1")), []);
});

test("findLibraries() gives every place that has the library, in order", () => {
  const exists = machineWith(
    "/sys/module/nvidia",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    "/usr/lib64/libnvidia-ml.so.1",
    "/opt/libnvidia-ml.so.1",
  );
  assert.deepEqual(
    findLibraries(exists),
    known(["/usr/lib64/libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1"]),
  );
});

test("findLibraries() takes WSL's paravirtual device for a driver", () => {
  assert.deepEqual(
    findLibraries(machineWith("/dev/dxg", "/usr/lib/wsl/lib/libnvidia-ml.so.1")),
    known(["/usr/lib/wsl/lib/libnvidia-ml.so.1"]),
  );
});

test("findLibraries() says that the driver has no library", () => {
  assert.deepEqual(
    findLibraries(machineWith("/proc/driver/nvidia/version")),
    absent("not-supported", "libnvidia-ml.so.1 is in none of the places where drivers put it"),
  );
});
