/**
 * A snapshot as CSV: a row for each holder on each GPU, each ghost, each other context, each GPU that has none of these,
 * and each that could not be read, so that no GPU is missing. An empty cell without quotes is a value that is not known or that there is none of;
 * the reasons are in the JSON form. Texts are made safe for terminals and spreadsheets by `guard`.
 */
import type { GpuUuid, Pid } from "../core/ids.ts";
import { type Reading, valueOf } from "../core/reading.ts";
import type { Bytes } from "../core/units.ts";
import { contextsOf, type UnreadableGpu } from "../model/gpu.ts";
import type { GpuAccount, Holder, HolderDevice, Snapshot } from "../model/snapshot.ts";
import { type Cell, type Field, renderCsv } from "./csv.ts";
import { GPU_COLUMNS, HOLDER_COLUMNS, UTILIZATION_COLUMN } from "./snapshot_columns.ts";

/** What a row is about. */
type Kind = "holder" | "ghost" | "context" | "gpu" | "unreadable-gpu";

interface Row {
  readonly snapshot: Snapshot;
  readonly kind: Kind;
  readonly uuid: GpuUuid | undefined;
  readonly account: GpuAccount | undefined;
  /** In place of an account. */
  readonly unreadable: UnreadableGpu | undefined;
  readonly pid: Pid | undefined;
  readonly holder: Holder | undefined;
  readonly device: HolderDevice | undefined;
  readonly contextBytes: Reading<Bytes> | undefined;
  readonly likelyHolders: readonly Pid[];
}

/** Writes a snapshot as CSV with a header line. */
export function renderSnapshotCsv(snapshot: Snapshot): string {
  return renderCsv(rowsOf(snapshot), FIELDS);
}

const FIELDS: readonly Field<Row>[] = [
  { key: "takenAt", value: ({ snapshot }) => valueOf(snapshot.takenAt) ?? null },
  { key: "host", value: ({ snapshot }) => valueOf(snapshot.host.name) ?? null },
  { key: "simulated", value: ({ snapshot }) => snapshot.simulated },
  { key: "kind", value: ({ kind }) => kind },
  { key: "gpuUuid", value: ({ uuid }) => uuid ?? null },
  ...[...GPU_COLUMNS, UTILIZATION_COLUMN].map(ofGpu),
  { key: "pid", value: ({ pid }) => pid ?? null },
  { key: "contextBytes", value: ({ contextBytes }) => contextBytes?.ok ? contextBytes.value : null },
  { key: "open", value: ({ device }) => device?.isOpen.ok ? device.isOpen.value : null },
  { key: "mapped", value: ({ device }) => device?.isMapped.ok ? device.isMapped.value : null },
  ofHolder("startTicks", ({ startTicks }) => valueOf(startTicks)),
  ofHolder("uid", ({ uid }) => valueOf(uid)),
  of(HOLDER_COLUMNS.user, ({ holder }: Row) => holder),
  ofHolder("name", ({ name }) => name),
  of(HOLDER_COLUMNS.state, ({ holder }: Row) => holder),
  ofHolder("threads", ({ threads }) => valueOf(threads)),
  ofHolder("parentPid", ({ parentPid }) => valueOf(parentPid)),
  of(HOLDER_COLUMNS.class, ({ holder }: Row) => holder),
  ofHolder("unit", ({ owner }) => valueOf(owner)?.unit),
  ofHolder("container", ({ owner }) => valueOf(owner)?.container?.id),
  ofHolder("pod", ({ owner }) => valueOf(owner)?.pod),
  ofHolder("slurmJob", ({ owner }) => valueOf(owner)?.slurmJob),
  ofHolder("jobLauncher", ({ job }) => job?.launcher),
  ofHolder("jobName", ({ job }) => job?.name),
  ofHolder("jobFirstPid", ({ job }) => job?.firstPid),
  ofHolder("rank", ({ job }) => job?.rank),
  {
    key: "likelyHolders",
    value: ({ likelyHolders }) => likelyHolders.length === 0 ? null : likelyHolders.join(" "),
  },
  of(HOLDER_COLUMNS.command, ({ holder }: Row) => holder),
  ofHolder("evidence", ({ evidence }) => evidence.join("; ")),
  ofHolder("advice", ({ advice }) => advice),
];

/** A field of a part of the row; without that part there is no value. */
function of<Part>({ key, value }: Field<Part>, partOf: (row: Row) => Part | undefined): Field<Row> {
  return {
    key,
    value: (row) => {
      const part = partOf(row);
      return part === undefined ? null : value(part);
    },
  };
}

/** Of a GPU that could not be read only its index is known. */
function ofGpu({ key, value }: Field<GpuAccount>): Field<Row> {
  return {
    key,
    value: ({ account, unreadable }) => {
      if (account !== undefined) return value(account);
      return key === "gpuIndex" ? unreadable?.index ?? null : null;
    },
  };
}

function ofHolder(key: string, value: (holder: Holder) => Cell | undefined): Field<Row> {
  return of<Holder>({ key, value: (holder) => value(holder) ?? null }, ({ holder }) => holder);
}

function rowsOf(snapshot: Snapshot): Row[] {
  const accounts = new Map(snapshot.gpus.map((account) => [account.gpu.uuid, account]));
  const row = (kind: Kind, uuid: GpuUuid | undefined, more: Partial<Row>): Row => ({
    snapshot,
    kind,
    uuid,
    account: uuid === undefined ? undefined : accounts.get(uuid),
    unreadable: undefined,
    pid: undefined,
    holder: undefined,
    device: undefined,
    contextBytes: undefined,
    likelyHolders: [],
    ...more,
  });
  const rows = [
    ...snapshot.holders.flatMap((holder) =>
      holder.devices.length === 0
        ? [row("holder", undefined, { holder, pid: holder.pid })]
        : holder.devices.map((device) =>
          row("holder", device.gpu, { holder, device, pid: holder.pid, contextBytes: device.contextBytes })
        )
    ),
    ...snapshot.ghosts.map(({ gpu, pid, contextBytes, likelyHolders }) =>
      row("ghost", gpu, { pid, contextBytes, likelyHolders: likelyHolders.map(({ pid }) => pid) })
    ),
  ];
  const seen = new Set(rows.map(({ uuid, pid }) => `${pid} ${uuid}`));
  for (const { gpu } of snapshot.gpus) {
    const others = contextsOf(gpu.processList).filter(({ pid }) => !seen.has(`${pid} ${gpu.uuid}`));
    rows.push(...others.map(({ pid, used }) => row("context", gpu.uuid, { pid, contextBytes: used })));
  }
  const covered = new Set(rows.map(({ uuid }) => uuid));
  rows.push(
    ...snapshot.gpus.filter(({ gpu }) => !covered.has(gpu.uuid)).map(({ gpu }) => row("gpu", gpu.uuid, {})),
  );
  return [
    ...rows,
    ...snapshot.unreadableGpus.map((unreadable) => row("unreadable-gpu", undefined, { unreadable })),
  ];
}
