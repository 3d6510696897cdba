import { test } from "node:test";
import assert from "node:assert/strict";
import { parseCgroup, readOwner } from "../../../lib/proc/cgroup.ts";
import type { Owner } from "../../../lib/model/process.ts";

const HASH = "701c443334f086aa29e06aba3e42dc979a9605f794b0b19af1f8304bbe5abe7a";
const INNER = "c664156b4a3cd7658b484ba00f1cb35c037edd2a427931ed8dd9fe20f35f84a2";
const POD = "e4b97838-73cc-4b94-9f3a-88153d3c8e31";
const POD_UNIT = POD.replaceAll("-", "_");

type Runtime = NonNullable<Owner["container"]>["runtime"];
const container = (id: string, runtime: Runtime, isMonitor = false) => ({
  container: { id, runtime, isMonitor },
});

/** Paths as each manager lays them out, with what they say beside the path itself. */
const PATHS: Readonly<Record<string, Omit<Owner, "cgroup" | "isCgroupDeleted">>> = {
  "/": {},
  "/init.scope": { unit: "init.scope" },
  "/system.slice/nginx.service": { unit: "nginx.service" },
  "/system.slice/_cpu.service": { unit: "cpu.service" },
  "/user.slice/user-1000.slice/session-3.scope": { unit: "session-3.scope", loginSession: "3" },
  "/user.slice/user-0.slice/session-c12.scope": { unit: "session-c12.scope", loginSession: "c12" },
  "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome\\x2dterminal.scope": {
    unit: "app-gnome\\x2dterminal.scope",
  },
  "/user.slice/user-1000.slice/user@1000.service/tmux-spawn-1.scope/job": { unit: "tmux-spawn-1.scope" },
  [`/system.slice/docker-${HASH}.scope`]: { unit: `docker-${HASH}.scope`, ...container(HASH, "docker") },
  [`/docker/${HASH}`]: container(HASH, "docker"),
  [`/docker/${HASH}/docker/${INNER}`]: container(INNER, "docker"),
  [`/system.slice/docker-${HASH}.scope/system.slice/app.service`]: {
    unit: "app.service",
    ...container(HASH, "docker"),
  },
  [`/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${POD_UNIT}.slice/cri-containerd-${HASH}.scope`]:
    {
      unit: `cri-containerd-${HASH}.scope`,
      ...container(HASH, "containerd"),
      pod: POD,
    },
  [`/kubepods.slice/kubepods-pod${POD_UNIT}.slice/crio-${HASH}.scope/container`]: {
    unit: `crio-${HASH}.scope`,
    ...container(HASH, "cri-o"),
    pod: POD,
  },
  [`/kubepods.slice/kubepods-pod${POD_UNIT}.slice/crio-conmon-${HASH}.scope`]: {
    unit: `crio-conmon-${HASH}.scope`,
    ...container(HASH, "cri-o", true),
    pod: POD,
  },
  [`/kubepods/besteffort/pod${POD}/${HASH}`]: { ...container(HASH, "unknown"), pod: POD },
  [`/kubepods/pod${"0123456789abcdef".repeat(2)}/${HASH}`]: {
    ...container(HASH, "unknown"),
    pod: "0123456789abcdef".repeat(2),
  },
  [`/system.slice/containerd.service/kubepods-burstable-pod${POD_UNIT}.slice:cri-containerd:${HASH}`]: {
    unit: "containerd.service",
    ...container(HASH, "containerd"),
    pod: POD,
  },
  [`/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-${HASH}.scope/container`]: {
    unit: `libpod-${HASH}.scope`,
    ...container(HASH, "podman"),
  },
  [`/libpod_parent/libpod-${HASH}`]: container(HASH, "podman"),
  [`/machine.slice/libpod-conmon-${HASH}.scope`]: {
    unit: `libpod-conmon-${HASH}.scope`,
    ...container(HASH, "podman", true),
  },
  [`/system.slice/nerdctl-${HASH}.scope`]: {
    unit: `nerdctl-${HASH}.scope`,
    ...container(HASH, "containerd"),
  },
  [`/k8s.io/${HASH}`]: container(HASH, "containerd"),
  [`/ecs/task/${HASH}`]: container(HASH, "unknown"),
  [`/ecs/${HASH.slice(0, 32)}-1234567890`]: container(`${HASH.slice(0, 32)}-1234567890`, "unknown"),
  "/lxc.payload.web-1/init.scope": { unit: "init.scope", ...container("web-1", "lxc") },
  "/lxc.monitor.web-1": container("web-1", "lxc", true),
  "/lxc/101/ns": container("101", "lxc"),
  "/machine.slice/machine-build\\x2dbox.scope/payload": {
    unit: "machine-build\\x2dbox.scope",
    ...container("build-box", "nspawn"),
  },
  "/machine.slice/systemd-nspawn@box.service/supervisor": {
    unit: "systemd-nspawn@box.service",
    ...container("box", "nspawn", true),
  },
  "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope": { unit: "machine-qemu\\x2d1\\x2dvm.scope" },
  "/system.slice/slurmstepd.scope/job_42/step_batch/user/task_0": {
    unit: "slurmstepd.scope",
    slurmJob: "42",
    slurmStep: "batch",
  },
  "/system.slice/node7_slurmstepd.scope/job_42/step_0/slurm": {
    unit: "node7_slurmstepd.scope",
    slurmJob: "42",
    slurmStep: "0",
  },
  "/slurm_node7/uid_1000/job_42/step_extern/task_0": { slurmJob: "42", slurmStep: "extern" },
  "/system.slice/slurmstepd.scope/system": { unit: "slurmstepd.scope" },
  "/system.slice/cron.service/job_7/step_0": { unit: "cron.service" },
};

test("parseCgroup() reads what each manager's path says, and no more", () => {
  for (const [cgroup, said] of Object.entries(PATHS)) {
    assert.deepEqual(parseCgroup(`0::${cgroup}\n`), { cgroup, isCgroupDeleted: false, ...said }, cgroup);
  }
});

test("parseCgroup() tells a removed cgroup from its path", () => {
  assert.deepEqual(parseCgroup(`0::/system.slice/docker-${HASH}.scope (deleted)\n`), {
    cgroup: `/system.slice/docker-${HASH}.scope`,
    isCgroupDeleted: true,
    unit: `docker-${HASH}.scope`,
    ...container(HASH, "docker"),
  });
});

test("parseCgroup() takes the longest of version 1's paths, and the innermost container of it", () => {
  // A Kubernetes node in a container, on a host that runs both versions side by side.
  const longest = `/system.slice/docker-${HASH}.scope/kubelet/kubepods/besteffort/pod${POD}/${INNER}`;
  const text = `12:cpu,cpuacct:/system.slice/docker-${HASH}.scope\n13:freezer:${longest}\n` +
    `1:name=systemd:/system.slice/docker-${HASH}.scope\n0::/system.slice/containerd.service\n`;
  assert.deepEqual(parseCgroup(text), {
    cgroup: longest,
    isCgroupDeleted: false,
    unit: `docker-${HASH}.scope`,
    ...container(INNER, "unknown"),
    pod: POD,
  });
});

test("parseCgroup() keeps a path from above the reader's own cgroup namespace", () => {
  assert.deepEqual(parseCgroup("0::/../../system.slice/ssh.service\n"), {
    cgroup: "/../../system.slice/ssh.service",
    isCgroupDeleted: false,
    unit: "ssh.service",
  });
});

test("parseCgroup() refuses a text without any hierarchy", () => {
  for (const text of ["", "0:/", "cpu:/x\n"]) {
    assert.throws(() => parseCgroup(text), {
      name: "SyntaxError",
      message: `Cannot parse "${text}": expected number:controllers:/path`,
    });
  }
});

test("readOwner() reads this very process", () => {
  assert.equal(readOwner("/proc/self").ok, true);
});
