/**
 * Gauges in the text format of Prometheus, version 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). Samples
 * have no time of their own: node_exporter refuses a file that gives them one.
 */
import { printableLines } from "../core/text.ts";

/** One value under one set of labels. */
export interface Sample {
  /** In the order of the metric's labels. One that is not known is left out, as is an empty one: to Prometheus both are. */
  readonly labels: readonly (string | undefined)[];
  readonly value: number;
}

/** What a metric is, said once for the document and for its reference. */
export interface MetricHead {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** A metric with what is known of it; without samples it is not written at all. */
export interface MetricFamily extends MetricHead {
  readonly samples: readonly Sample[];
}

/** Writes a document. Of several samples under the same labels the first counts: two would make the whole of it void. */
export function renderPrometheus(families: readonly MetricFamily[], remarks: readonly string[] = []): string {
  const lines = remarks.map((remark) => `# ${remark}`);
  for (const family of families) {
    if (family.samples.length === 0) continue;
    lines.push(`# HELP ${family.name} ${family.help}`, `# TYPE ${family.name} gauge`);
    const byName = new Map<string, number>();
    for (const { labels, value } of family.samples) {
      const name = `${family.name}${formatLabels(family.labels, labels)}`;
      if (!byName.has(name)) byName.set(name, value);
    }
    for (const [name, value] of byName) lines.push(`${name} ${value}`);
  }
  return lines.map((line) => `${line}\n`).join("");
}

function formatLabels(names: readonly string[], values: Sample["labels"]): string {
  const pairs = names.flatMap((name, place) => {
    const value = values[place];
    return value === undefined || value === "" ? [] : [`${name}="${escapeLabel(value)}"`];
  });
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** The format's three escapes; what else could drive a terminal, or is no UTF-8 at all, is shown as `\u{1b}`. */
function escapeLabel(value: string): string {
  return printableLines(value).replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
