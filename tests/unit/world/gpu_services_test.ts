import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { test } from "node:test";
import { pid } from "../../../lib/core/ids.ts";
import { absent, known } from "../../../lib/core/reading.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import { findServiceKind } from "../../../lib/model/gpu_units.ts";
import { parseUnits, readGpuServices } from "../../../lib/world/gpu_services.ts";
import type { SystemdPlaces } from "../../../lib/world/systemd.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temporary.ts";

/** As systemctl 255 prints it, MainPID first and the rest in an order of its own. */
function unit(id: string, state: string, { pid = 0, load = "loaded", names = id } = {}): string {
  return `MainPID=${pid}\nId=${id}\nNames=${names}\nLoadState=${load}\nActiveState=${state}\n`;
}

const NO_PROCESS = absent("not-reported", "it has no main process");

test("parseUnits() gives what runs and what is installed, and leaves out what is neither", () => {
  const text = [
    unit("nvidia-persistenced.service", "active", { pid: 812 }),
    unit("nvidia-fabricmanager.service", "inactive"),
    unit("nvidia-dcgm.service", "failed"),
    unit("dcgm.service", "inactive", { load: "not-found" }),
    // Removed while it runs.
    unit("nvidia-imex.service", "active", { pid: 900, load: "not-found" }),
    unit("gpud.service", "activating"),
    unit("nvidia-powerd.service", "inactive", { load: "masked" }),
  ].join("\n");
  assert.deepEqual(parseUnits(text), [
    {
      unit: "nvidia-persistenced.service",
      kind: "persistence-daemon",
      isActive: true,
      mainPid: known(pid(812)),
    },
    { unit: "nvidia-fabricmanager.service", kind: "fabric-manager", isActive: false, mainPid: NO_PROCESS },
    { unit: "nvidia-dcgm.service", kind: "dcgm", isActive: false, mainPid: NO_PROCESS },
    { unit: "nvidia-imex.service", kind: "imex", isActive: true, mainPid: known(pid(900)) },
    { unit: "gpud.service", kind: "telemetry", isActive: true, mainPid: NO_PROCESS },
  ]);
});

test("parseUnits() names a service once, by its own name, whatever names led to it", () => {
  const names = "greeter.service display-manager.service";
  const greeter = unit("greeter.service", "active", { pid: 7, names });
  const gdm = unit("gdm.service", "active", { pid: 8, names: "display-manager.service gdm.service" });
  assert.deepEqual(parseUnits([greeter, gdm, gdm].join("\n")), [
    { unit: "greeter.service", kind: "display-manager", isActive: true, mainPid: known(pid(7)) },
    { unit: "gdm.service", kind: "display-manager", isActive: true, mainPid: known(pid(8)) },
  ]);
});

test("parseUnits() makes nothing of text that is no answer", () => {
  assert.deepEqual(parseUnits(""), []);
  assert.deepEqual(parseUnits("Id=ssh.service\nActiveState=active\n\nId=gdm.service\n\nrubbish\n"), []);
});

test("findServiceKind() knows services by the names that packages give them", () => {
  const kinds = [
    "nvidia-persistenced",
    "nvidia-fabricmanager",
    "nv-hostengine",
    "nvidia-dcgm-exporter",
    "prometheus-dcgm-exporter",
    "nvidia_gpu_exporter",
    "nvidia-mps",
    "nvidia-cuda-mps-control@0",
    "nvidia-imex",
    "lightdm",
    "nvsm-core",
    "nvidia-powerd",
    "geopm",
    "ssh",
    "prometheus-node-exporter",
  ].map((name) => findServiceKind(`${name}.service`));
  assert.deepEqual(kinds, [
    "persistence-daemon",
    "fabric-manager",
    "dcgm",
    "exporter",
    "exporter",
    "exporter",
    "mps",
    "mps",
    "imex",
    "display-manager",
    "telemetry",
    "powerd",
    "other",
    undefined,
    undefined,
  ]);
  assert.deepEqual(["gdm", "gdmXservice", "xgdm.service", "gdm.service.d"].map(findServiceKind), [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

/** A systemd whose systemctl is a shell script. */
function places(folder: TemporaryFolder, script: string): SystemdPlaces {
  const systemctl = folder.write("bin/systemctl", `#!/bin/sh\n${script}\n`);
  chmodSync(systemctl, 0o755);
  return { booted: folder.path, systemctl: [systemctl], units: folder.path };
}

test("readGpuServices() asks systemctl once for all of them, and passes their patterns on as they are", async () => {
  using folder = temporaryFolder();
  const script = `for word; do
  case $word in
  'nvidia-mps*.service') hasPattern=1;;
  gdm.service) hasUnit=1;;
  esac
done
[ "$3 $4 $5 $hasPattern$hasUnit" = "show --property=Id,Names,LoadState,ActiveState,MainPID -- 11" ] || exit 1
printf '%s\\n' MainPID=8 Id=gdm.service LoadState=loaded ActiveState=active`;
  assert.deepEqual(
    await readGpuServices(places(folder, script)),
    known([{ unit: "gdm.service", kind: "display-manager", isActive: true, mainPid: known(pid(8)) }]),
  );
});

test("readGpuServices() is absent where systemd does not run the machine, refuses or gives no answer", async () => {
  using folder = temporaryFolder();
  const working = places(folder, "exit 0");
  assert.deepEqual(
    await readGpuServices({ ...working, booted: "/dev/null/none" }),
    absent("not-supported", "systemd does not run this machine"),
  );
  assert.deepEqual(
    await readGpuServices({ ...working, systemctl: [] }),
    absent("not-supported", "systemctl is not installed"),
  );
  const order = "systemctl show --property=Id,Names,LoadState,ActiveState,MainPID -- nvidia-persistenced.s…";
  assert.deepEqual(
    await readGpuServices(places(folder, "echo 'Failed to connect to bus' >&2; exit 1")),
    absent("failed", `Cannot run ${order}: Failed to connect to bus`),
  );
  assert.deepEqual(
    await readGpuServices(places(folder, "exec sleep 30"), milliseconds(200)),
    absent("failed", `Cannot run ${order}: no answer within 200 ms`),
  );
});
