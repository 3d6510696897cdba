/** Every document that gpuctl writes for programs. A new one has its schema in a file here and its entry in this table. */
import type { GenericSchema } from "valibot";
import { AUDIT_PARTS, AUDIT_SCHEMA, AUDIT_SCHEMA_NAME } from "./audit.ts";
import { CLEANUP_PARTS, CLEANUP_SCHEMA, CLEANUP_SCHEMA_NAME } from "./cleanup.ts";
import { DIFF_PARTS, DIFF_SCHEMA, DIFF_SCHEMA_NAME } from "./diff.ts";
import { DOCTOR_PARTS, DOCTOR_SCHEMA, DOCTOR_SCHEMA_NAME } from "./doctor.ts";
import { ISOLATION_PARTS, ISOLATION_SCHEMA, ISOLATION_SCHEMA_NAME } from "./isolation.ts";
import { LINT_PARTS, LINT_SCHEMA, LINT_SCHEMA_NAME } from "./lint.ts";
import { RESET_PARTS, RESET_SCHEMA, RESET_SCHEMA_NAME } from "./reset.ts";
import { SAMPLES_PARTS, SAMPLES_SCHEMA, SAMPLES_SCHEMA_NAME } from "./sample.ts";
import { SNAPSHOT_PARTS, SNAPSHOT_SCHEMA, SNAPSHOT_SCHEMA_NAME } from "./snapshot.ts";
import { WATCH_PARTS, WATCH_SCHEMA, WATCH_SCHEMA_NAME } from "./watch.ts";

/** One kind of document. */
export interface DocumentSchema {
  /** Its name and major version, as the key `schema` of the document has it. */
  readonly name: `gpuctl.${string}/${number}`;
  /** Where it comes from. */
  readonly summary: string;
  /** The document; where there are several a file, one line. */
  readonly schema: GenericSchema;
  /** What is named in it. */
  readonly parts: Readonly<Record<string, GenericSchema>>;
}

/** All of them, in the order in which people meet them. */
export const DOCUMENTS: readonly DocumentSchema[] = [
  {
    name: SNAPSHOT_SCHEMA_NAME,
    summary: "What gpuctl snapshot --json prints",
    schema: SNAPSHOT_SCHEMA,
    parts: SNAPSHOT_PARTS,
  },
  {
    name: DIFF_SCHEMA_NAME,
    summary: "What gpuctl diff --json prints, of a job as of two snapshots",
    schema: DIFF_SCHEMA,
    parts: DIFF_PARTS,
  },
  {
    name: SAMPLES_SCHEMA_NAME,
    summary: "One line of the file that gpuctl diff --record writes",
    schema: SAMPLES_SCHEMA,
    parts: SAMPLES_PARTS,
  },
  {
    name: CLEANUP_SCHEMA_NAME,
    summary: "What gpuctl clean-zombies --json prints",
    schema: CLEANUP_SCHEMA,
    parts: CLEANUP_PARTS,
  },
  {
    name: AUDIT_SCHEMA_NAME,
    summary: "One line of the record of everything that was ended",
    schema: AUDIT_SCHEMA,
    parts: AUDIT_PARTS,
  },
  {
    name: ISOLATION_SCHEMA_NAME,
    summary: "What gpuctl verify-isolation --json prints",
    schema: ISOLATION_SCHEMA,
    parts: ISOLATION_PARTS,
  },
  {
    name: LINT_SCHEMA_NAME,
    summary: "What gpuctl verify-isolation --lint prints with --json and without a command",
    schema: LINT_SCHEMA,
    parts: LINT_PARTS,
  },
  {
    name: RESET_SCHEMA_NAME,
    summary: "What gpuctl reset-gpu --json prints",
    schema: RESET_SCHEMA,
    parts: RESET_PARTS,
  },
  {
    name: WATCH_SCHEMA_NAME,
    summary: "One line of what gpuctl watch writes for programs",
    schema: WATCH_SCHEMA,
    parts: WATCH_PARTS,
  },
  {
    name: DOCTOR_SCHEMA_NAME,
    summary: "What gpuctl doctor --json prints",
    schema: DOCTOR_SCHEMA,
    parts: DOCTOR_PARTS,
  },
];

/** What people call a document: `snapshot` for `gpuctl.snapshot/1`. */
export function shortNameOf({ name }: DocumentSchema): string {
  return name.slice("gpuctl.".length, name.lastIndexOf("/"));
}
