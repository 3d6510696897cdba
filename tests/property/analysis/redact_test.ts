import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { attribute } from "../../../lib/analysis/attribute.ts";
import { redactSnapshot } from "../../../lib/analysis/redact.ts";
import { gpuUuid } from "../../../lib/core/ids.ts";
import { known } from "../../../lib/core/reading.ts";
import { parseSnapshot } from "../../../lib/model/decode.ts";
import { contextsOf } from "../../../lib/model/gpu.ts";
import type { Snapshot } from "../../../lib/model/snapshot.ts";
import { renderSnapshotCsv } from "../../../lib/render/snapshot_csv.ts";
import { renderSnapshotJson } from "../../../lib/render/snapshot_json.ts";
import { renderSnapshotPrometheus } from "../../../lib/render/snapshot_prometheus.ts";
import { renderSnapshotTable } from "../../../lib/render/snapshot_table.ts";
import { MACHINES } from "../../fixtures/machines/all.ts";
import { type MachineSpec, observe, type ProcessSpec } from "../../support/machine.ts";
import { machines } from "../../support/machine_arbitrary.ts";
import { anySnapshot } from "../../support/snapshots.ts";

/** Within every secret: no word of the program's, no number, and no beginning of either. */
const MARK = "Zq9";
const AROUND = [
  ...[
    "",
    "$&",
    "(.*)",
    "[a-",
    "\\d",
    "\\",
    "'",
    '"',
    " ",
    "  x y",
    "\n",
    "\t",
    "\ufffd",
    "\ud800",
    "\0",
    "\x1b[2J",
  ],
  ...[
    ") lives",
    ", PID 5 (",
    "the owner",
    "/",
    "=",
    ":",
    ".",
    "-",
    "_",
    "🦊",
    "訓練",
    ".py",
    ".service",
    ".scope",
  ],
  ...["python3", "root", "GPU-", "77", "(deleted)", "systemd-", "user-1", "é"],
];

/** Texts with a mark: some hold others, and some are made of what means something elsewhere. */
const secrets: fc.Arbitrary<string> = fc.tuple(
  fc.constantFrom(...AROUND),
  fc.constantFrom(MARK, `${MARK}a`, `${MARK}ab`, `x${MARK}`),
  fc.constantFrom(...AROUND),
).map((parts) => parts.join(""));

/** A process whose every text is a secret; what shows its class is left as it is. */
function hide(process: ProcessSpec, names: readonly string[], wide: boolean): ProcessSpec {
  const [a = "", b = "", c = "", d = "", e = "", f = ""] = names;
  const program = process.program ?? "/usr/bin/python3";
  return {
    ...process,
    comm: a,
    program: `/opt/${b.replaceAll("/", "")}${program}`,
    user: { uid: process.user?.uid ?? 1000, name: c },
    ...wide && { argv: [...process.argv ?? ["python3"], d, `--x=${e}`] },
    ...wide &&
      { environment: { RANK: "0", LOCAL_RANK: e, TORCHELASTIC_RUN_ID: f, MASTER_PORT: "1", PBS_JOBID: d } },
    owner: {
      cgroup: `/user.slice/user-1000.slice/${d}/${e}.service`,
      unit: `${e}.service`,
      ...process.owner,
      ...wide && { container: { id: f, runtime: "docker", isMonitor: false }, pod: b, loginSession: c },
    },
  };
}

const secretMachines: fc.Arbitrary<MachineSpec> = fc.tuple(
  machines,
  fc.array(fc.array(secrets, { minLength: 6, maxLength: 6 }), { minLength: 8, maxLength: 8 }),
  fc.boolean(),
).map(([machine, names, wide]) => ({
  ...machine,
  processes: machine.processes.map((process, place) => hide(process, names[place] ?? [], wide)),
}));

/** What is true of who holds what, without a name in it. */
function structureOf({ driver, gpus, holders, ghosts, problems, ...rest }: Snapshot): unknown {
  const places = new Map(gpus.map(({ gpu }, place) => [gpu.uuid, place]));
  return {
    takenAt: rest.takenAt,
    source: rest.source,
    simulated: rest.simulated,
    driver: driver.ok,
    gpus: gpus.map(({ gpu, unattributed, cause }) => ({
      index: gpu.index,
      used: gpu.memoryUsed.ok && gpu.memoryUsed.value,
      unattributed: unattributed.ok && unattributed.value,
      hasCause: cause !== undefined,
      list: gpu.processList.state,
      contexts: contextsOf(gpu.processList).map(({ pid, kind, used }) => [pid, kind, used.ok && used.value]),
    })),
    holders: holders.map((holder) => ({
      pid: holder.pid,
      parent: holder.parentPid,
      class: holder.class,
      evidence: holder.evidence.length,
      arguments: holder.argv.ok && holder.argv.value.length,
      devices: holder.devices.map((device) => ({ ...device, gpu: places.get(device.gpu) })),
      sameUser: holders.map(({ user }) => user.ok && holder.user.ok && user.value === holder.user.value),
      sameUid: holders.map(({ uid }) => uid.ok && holder.uid.ok && uid.value === holder.uid.value),
      sameName: holders.map(({ name }) => name === holder.name),
      sameCgroup: holders.map(({ owner }) =>
        owner.ok && holder.owner.ok && owner.value.cgroup === holder.owner.value.cgroup
      ),
    })),
    ghosts: ghosts.map(({ pid, gpu, likelyHolders }) => ({
      pid,
      gpu: places.get(gpu),
      likely: likelyHolders.map(({ pid, reasons }) => [pid, reasons.length]),
    })),
    problems: problems.map(({ reason }) => reason.why),
  };
}

function renderAll(snapshot: Snapshot): string {
  return [
    renderSnapshotTable(snapshot),
    renderSnapshotCsv(snapshot),
    renderSnapshotJson(snapshot),
    renderSnapshotPrometheus(snapshot),
  ].join("\n");
}

test("redactSnapshot() leaves no secret in a table, CSV, JSON or metrics, whatever it is made of", () => {
  fc.assert(
    fc.property(secretMachines, secrets, (machine, secret) => {
      const seen = attribute(observe(machine));
      const snapshot: Snapshot = {
        ...seen,
        host: { ...seen.host, name: known(secret), bootId: known(secret), kernel: known(`6.8-${secret}`) },
        gpus: seen.gpus.map((account) => ({
          ...account,
          gpu: { ...account.gpu, uuid: gpuUuid(`GPU-${secret}`) },
          cause: `held by PID 5 (${secret}), which the driver does not list`,
        })),
        problems: [{
          subject: `file ${secret}`,
          reason: { ok: false, why: "failed", detail: `ENOENT: no such file, open '/srv/${secret}'` },
          message: `${secret} cannot be read: ${secret}`,
        }],
      };
      assert.ok(renderAll(snapshot).includes(MARK));
      const shown = renderAll(redactSnapshot(snapshot));
      assert.equal(shown.indexOf(MARK), -1, shown);
    }),
    { numRuns: 300 },
  );
});

test("redactSnapshot() keeps classes, ghosts, likely holders, and who shares what with whom", () => {
  fc.assert(fc.property(machines, (machine) => {
    const snapshot = attribute(observe(machine));
    assert.deepEqual(structureOf(redactSnapshot(snapshot)), structureOf(snapshot));
  }));
  for (const { spec } of MACHINES) {
    const snapshot = attribute(observe(spec));
    assert.deepEqual(structureOf(redactSnapshot(snapshot)), structureOf(snapshot));
  }
});

test("redactSnapshot() keeps the sentences of the labelled machines readable: only names are replaced", () => {
  const unread = new Set<string>();
  for (const { spec } of MACHINES) {
    const { holders, ghosts, gpus, problems } = redactSnapshot(attribute(observe(spec)));
    const sentences = [
      ...holders.flatMap(({ evidence, advice }) => [...evidence, advice]),
      ...ghosts.flatMap(({ likelyHolders }) => likelyHolders.flatMap(({ reasons }) => reasons)),
      ...gpus.flatMap(({ cause = "" }) => cause),
      ...problems.flatMap(({ subject, message }) => [subject, message]),
    ];
    for (const sentence of sentences) if (/\bword-\d/.test(sentence)) unread.add(sentence);
  }
  assert.deepEqual([...unread], []);
});

test("redactSnapshot() changes nothing that it has redacted already", () => {
  fc.assert(
    fc.property(
      fc.oneof(anySnapshot, secretMachines.map((machine) => attribute(observe(machine)))),
      (snapshot) => {
        const redacted = redactSnapshot(snapshot);
        assert.deepEqual(redactSnapshot(redacted), redacted);
      },
    ),
    { numRuns: 300 },
  );
});

test("redactSnapshot() gives what the JSON form can hold, and reads back as it was", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    const redacted = redactSnapshot(snapshot);
    assert.deepEqual(parseSnapshot(renderSnapshotJson(redacted)), redacted);
  }));
});
