import assert from "node:assert/strict";
import { test } from "node:test";
import { gpuUuid, pid } from "../../../../lib/core/ids.ts";
import { absent, known } from "../../../../lib/core/reading.ts";
import { bytes } from "../../../../lib/core/units.ts";
import type { CheckVerdict } from "../../../../lib/model/doctor.ts";
import type { FabricState } from "../../../../lib/model/gpu_health.ts";
import type { MigInstance } from "../../../../lib/model/gpu.ts";
import { type DoctorScene, judgeCheck } from "../../../support/doctor_scene.ts";
import { service } from "../../../support/reset_scene.ts";

const START = "start it, of the driver's own version: sudo systemctl enable --now nvidia-fabricmanager";
const INSTANCE: MigInstance = {
  uuid: gpuUuid("MIG-00000001-1111-5222-8333-444455556666"),
  gpuInstance: known(1),
  computeInstance: known(0),
  profile: known("1g.18gb"),
  memoryTotal: known(bytes(1024 ** 3)),
  memoryUsed: known(bytes(0)),
};

function behindSwitch(
  fabric: FabricState | undefined,
  services: readonly ReturnType<typeof service>[],
): CheckVerdict {
  const reading = fabric === undefined ? absent("not-supported") : known(fabric);
  return judgeCheck("fabric-manager", {
    gpus: { 0: { has: { hasNvSwitch: known(true), fabric: reading } } },
    facts: { services: known(services) },
  });
}

test("persistence is a finding where nothing keeps a GPU ready", () => {
  const off = (display: boolean): DoctorScene => ({
    gpus: { 0: { persistenceMode: known(false), displayActive: known(display) } },
  });
  const fix =
    "start the daemon: sudo systemctl enable --now nvidia-persistenced; where there is none: sudo nvidia-smi -pm 1";
  assert.deepEqual(judgeCheck("persistence", off(false)), {
    status: "finding",
    evidence: ["GPU 0 has persistence mode off"],
    fix,
  });
  const daemon = service("nvidia-persistenced.service", "persistence-daemon");
  assert.deepEqual(judgeCheck("persistence", { ...off(false), facts: { services: known([daemon]) } }), {
    status: "finding",
    evidence: ["GPU 0 has persistence mode off, although the persistence daemon runs"],
    fix,
  });
  assert.deepEqual(judgeCheck("persistence", off(true)), {
    status: "ok",
    evidence: ["GPU 0 drives a display, which keeps it ready"],
  });
  assert.deepEqual(judgeCheck("persistence", { gpus: { 0: { persistenceMode: absent("not-supported") } } }), {
    status: "skipped",
    evidence: ["GPU 0 has no persistence mode"],
  });
});

test("compute-mode is a finding where no program is let in", () => {
  assert.deepEqual(judgeCheck("compute-mode", { gpus: { 0: { computeMode: known("prohibited") } } }), {
    status: "finding",
    evidence: ["GPU 0 is in compute mode prohibited: no program can use it"],
    fix: "let programs in again: sudo nvidia-smi -i 0 -c DEFAULT",
  });
  assert.deepEqual(judgeCheck("compute-mode", { gpus: { 0: { computeMode: known("exclusive-process") } } }), {
    status: "ok",
    evidence: ["GPU 0 is in compute mode exclusive-process: a second program on it is refused"],
  });
});

test("mig is a finding where the mode is pending, or there is nothing to run on", () => {
  const mode = (current: boolean, pending: boolean, instances: readonly MigInstance[] = []): DoctorScene => ({
    gpus: { 0: { migMode: known({ current, pending }), migInstances: known(instances) } },
  });
  assert.deepEqual(judgeCheck("mig", mode(false, true)), {
    status: "finding",
    evidence: ["GPU 0 has MIG off now and turns it on at the next reset"],
    fix:
      "see what is in the way of a reset: gpuctl reset-gpu 0; to keep it as it is: sudo nvidia-smi -i 0 -mig 0",
  });
  assert.deepEqual(judgeCheck("mig", mode(true, true)), {
    status: "finding",
    evidence: ["GPU 0 has MIG on and no instance: programs find no GPU there"],
    fix:
      "make instances (sudo nvidia-smi mig -i 0 -cgi PROFILE -C), or turn it off: sudo nvidia-smi -i 0 -mig 0",
  });
  assert.deepEqual(judgeCheck("mig", mode(true, true, [INSTANCE])), {
    status: "ok",
    evidence: ["GPU 0 is divided into 1 MIG instance"],
  });
});

test("fabric-manager calls a GPU well only if it has joined with success", () => {
  const manager = service("nvidia-fabricmanager.service", "fabric-manager");
  assert.deepEqual(behindSwitch({ state: "completed", status: 0 }, []), {
    status: "ok",
    evidence: ["GPU 0 has joined its fabric"],
  });
  assert.deepEqual(behindSwitch({ state: "completed", status: 23 }, [manager]), {
    status: "finding",
    evidence: ["GPU 0 could not join its fabric (status 23)"],
    fix:
      "restart Fabric Manager together with a reset of all GPUs of the fabric: a restart alone leaves them out",
  });
  assert.deepEqual(behindSwitch({ state: "in-progress", status: 0 }, [manager]), {
    status: "finding",
    evidence: ["GPU 0 has not joined its fabric (in-progress), although Fabric Manager runs"],
    fix: "see its log: journalctl -u nvidia-fabricmanager",
  });
  assert.deepEqual(behindSwitch({ state: "not-started", status: 0 }, []), {
    status: "finding",
    evidence: ["GPU 0 has not joined its fabric (not-started), and Fabric Manager is not known to run"],
    fix: START,
  });
});

test("fabric-manager goes by the service where a GPU does not tell of its fabric", () => {
  const manager = service("nvidia-fabricmanager.service", "fabric-manager");
  assert.deepEqual(behindSwitch(undefined, [manager]), {
    status: "ok",
    evidence: ["GPU 0 is behind an NVSwitch, and Fabric Manager runs"],
  });
  assert.deepEqual(behindSwitch(undefined, [{ ...manager, isActive: false }]), {
    status: "finding",
    evidence: ["GPU 0 is behind an NVSwitch, and Fabric Manager does not run"],
    fix: START,
  });
});

test("mps is a finding where pipes lead to a dead daemon", () => {
  const daemon = (isAlive: boolean): DoctorScene => ({
    facts: {
      mps: known({
        kind: "daemon",
        daemon: { directory: "/tmp/it's mine", pid: known(pid(812)), isAlive: known(isAlive) },
      }),
    },
  });
  assert.deepEqual(judgeCheck("mps", daemon(false)), {
    status: "finding",
    evidence: ["the MPS daemon of /tmp/it's mine (PID 812) is dead, and its pipes are still there"],
    fix:
      `start it again (nvidia-cuda-mps-control -d), or take its pipe away: rm '/tmp/it'\\''s mine/control'`,
  });
  assert.deepEqual(judgeCheck("mps", daemon(true)), {
    status: "ok",
    evidence: [
      "the MPS daemon of /tmp/it's mine (PID 812) is alive: programs of its user share one server, and end it by: echo quit | nvidia-cuda-mps-control",
    ],
  });
});

test("container.toolkit finds engines without the toolkit, and descriptions of another driver", () => {
  const tools = (toolkit: readonly string[], versions?: readonly string[]): DoctorScene => ({
    facts: {
      containers: known({
        engines: ["docker"],
        toolkit,
        cdiSpecs: known(
          versions === undefined ? [] : [{ path: "/etc/cdi/nvidia.yaml", driverVersions: known(versions) }],
        ),
      }),
    },
  });
  assert.deepEqual(judgeCheck("container.toolkit", tools([])), {
    status: "finding",
    evidence: ["docker is installed, and the NVIDIA container toolkit is not"],
    fix:
      "install nvidia-container-toolkit, then: sudo nvidia-ctk runtime configure --runtime=docker, and restart docker",
  });
  assert.deepEqual(judgeCheck("container.toolkit", tools(["nvidia-ctk"], ["470.82.01"])), {
    status: "finding",
    evidence: [
      "/etc/cdi/nvidia.yaml names files of driver 470.82.01, and the loaded module is 580.159.04",
      "docker and the container toolkit (nvidia-ctk) are installed",
    ],
    fix: "describe the devices anew: sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
  });
  assert.deepEqual(judgeCheck("container.toolkit", tools(["nvidia-ctk"], ["580.159.04"])), {
    status: "ok",
    evidence: [
      "docker and the container toolkit (nvidia-ctk) are installed",
      "/etc/cdi/nvidia.yaml describes devices for containers",
    ],
  });
  assert.deepEqual(judgeCheck("container.toolkit", { ...tools([]), machine: { isContainer: known(true) } }), {
    status: "skipped",
    evidence: ["this is a container: what gives it its GPUs shows on the host"],
  });
});
