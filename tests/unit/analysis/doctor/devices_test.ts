import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceMinor } from "../../../../lib/core/ids.ts";
import { absent, known } from "../../../../lib/core/reading.ts";
import type { NodeFile } from "../../../../lib/model/doctor_facts.ts";
import { type DoctorScene, judgeCheck, node, NODES } from "../../../support/doctor_scene.ts";

const MAKE = "let the driver make them: sudo nvidia-modprobe -u -c=0";

function withNode(path: string, changes: Partial<NodeFile>): DoctorScene {
  return {
    driver: { nodes: known(NODES.map((each) => each.path === path ? { ...each, ...changes } : each)) },
  };
}

test("devices.permissions names each node that is missing, and the way to get it", () => {
  assert.deepEqual(judgeCheck("devices.permissions", { driver: { nodes: known([]) } }), {
    status: "finding",
    evidence: [
      "there is no /dev/nvidiactl",
      "there is no /dev/nvidia-uvm: CUDA does not start without it",
      "there is no /dev/nvidia0",
    ],
    fix: MAKE,
  });
  assert.equal(
    judgeCheck("devices.permissions", { driver: { nodes: known([]) }, machine: { isContainer: known(true) } })
      .fix,
    "start the container with GPUs: docker run --gpus all, or the like of its runtime",
  );
});

test("devices.permissions names the node that this user may not open, with its owner, group and mode", () => {
  assert.deepEqual(
    judgeCheck(
      "devices.permissions",
      withNode("/dev/nvidia0", { access: known("refused"), isForEverybody: false, permissions: "0:44 0660" }),
    ),
    {
      status: "finding",
      evidence: [
        "this user may not open /dev/nvidia0 (owner, group and mode 0:44 0660)",
        "this user may open /dev/nvidia-uvm",
        "this user may open /dev/nvidiactl",
      ],
      fix:
        "put the user into the node's group (sudo usermod -aG GROUP USER, then log in again), or open it for all with the " +
        "module's option NVreg_DeviceFileMode=0666",
    },
  );
});

test("devices.permissions does not let what root may stand for what others may", () => {
  assert.deepEqual(
    judgeCheck(
      "devices.permissions",
      withNode("/dev/nvidiactl", { isForEverybody: false, permissions: "0:0 0600" }),
    ).evidence
      .filter((sentence) => sentence.includes("nvidiactl")),
    ["root may open /dev/nvidiactl; other users only as owner, group and mode 0:0 0600 let them"],
  );
});

test("devices.permissions knows a node of a driver that was reloaded since", () => {
  assert.deepEqual(
    judgeCheck("devices.permissions", withNode("/dev/nvidia-uvm", { isCurrent: known(false) })),
    {
      status: "finding",
      evidence: [
        "/dev/nvidia-uvm has a device number that the loaded driver does not have: it was made before the driver was reloaded",
        "this user may open /dev/nvidia0",
        "this user may open /dev/nvidiactl",
      ],
      fix: "remove it and make it again: sudo rm /dev/nvidia-uvm, then sudo nvidia-modprobe -u -c=0",
    },
  );
});

test("container.cgroup-devices finds nodes that file permissions allow and device rules refuse", () => {
  const nodes = known(NODES.map((each) => ({ ...each, access: known("refused-by-rules" as const) })));
  assert.deepEqual(
    judgeCheck("container.cgroup-devices", { driver: { nodes }, machine: { isContainer: known(true) } }),
    {
      status: "finding",
      evidence: [
        "/dev/nvidia0, /dev/nvidia-uvm, /dev/nvidiactl: the cgroup's device rules refuse what the file permissions allow",
      ],
      fix: "make the container anew; to keep it from happening again, on the host: sudo nvidia-ctk system " +
        "create-dev-char-symlinks --create-all, or hand the GPUs over by CDI",
    },
  );
  assert.deepEqual(judgeCheck("devices.permissions", { driver: { nodes } }), {
    status: "skipped",
    evidence: [
      "the cgroup's device rules refuse /dev/nvidia0, /dev/nvidia-uvm, /dev/nvidiactl: see container.cgroup-devices",
    ],
  });
  assert.equal(
    judgeCheck("devices.permissions", withNode("/dev/nvidia0", { access: known("refused-by-rules") })).status,
    "skipped",
  );
});

test("container.cgroup-devices does not apply where there are no nodes, or permissions refuse before the rules", () => {
  assert.deepEqual(judgeCheck("container.cgroup-devices", { driver: { nodes: known([]) } }), {
    status: "skipped",
    evidence: ["there are no device nodes: see devices.permissions"],
  });
  assert.deepEqual(
    judgeCheck("container.cgroup-devices", withNode("/dev/nvidia0", { access: known("refused") })),
    {
      status: "skipped",
      evidence: ["the permissions of 1 node refuse this user already: see devices.permissions"],
    },
  );
});

test("container.cgroup-devices is unknown where a node cannot be asked about", () => {
  const gone = node("/dev/nvidia1", { kind: "gpu", minor: deviceMinor(1) }, {
    access: absent("failed", "it is gone"),
  });
  assert.deepEqual(judgeCheck("container.cgroup-devices", { driver: { nodes: known([...NODES, gone]) } }), {
    status: "unknown",
    evidence: ["whether /dev/nvidia1 may be opened is not known: the call failed (it is gone)"],
  });
});

test("namespace.pid finds a reader that does not see the whole machine", () => {
  const standing = { isRoot: true, mayTrace: true, isInitialPidNamespace: known(false) };
  assert.deepEqual(
    judgeCheck("namespace.pid", {
      facts: { standing: known(standing) },
      machine: { isContainer: known(true) },
    }),
    {
      status: "finding",
      evidence: ["this is not the machine's first PID namespace: only its own processes can be seen"],
      fix:
        "look from the host, or start the container with the host's processes: docker run --pid=host, hostPID: true of a pod",
    },
  );
  const hidden = {
    isRoot: false,
    mayTrace: false,
    isInitialPidNamespace: known(true),
    hiding: absent("hidden", "hidepid=2"),
  };
  assert.deepEqual(judgeCheck("namespace.pid", { facts: { standing: known(hidden) } }), {
    status: "finding",
    evidence: ["processes of other users do not show: hidden from here (hidepid=2)"],
    fix: "run it as root: sudo gpuctl doctor",
  });
  assert.deepEqual(
    judgeCheck("namespace.pid", {
      facts: { standing: known({ isRoot: false, mayTrace: false, isInitialPidNamespace: known(true) }) },
    }),
    {
      status: "ok",
      evidence: [
        "this is the machine's first PID namespace; what processes of others have open only root may see",
      ],
    },
  );
});
