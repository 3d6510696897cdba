/** A job's report as one HTML file: no script, nothing loaded, readable in dark and light and by a screen reader. */
import type { MemorySeries } from "../analysis/diff_series.ts";
import { formatSignal } from "../core/signals.ts";
import { printable, quoteArguments } from "../core/text.ts";
import { formatBytes, formatDuration } from "../core/units.ts";
import type { GpuDiff, JobDiff } from "../model/diff.ts";
import { type Chart, renderMemoryChart } from "./diff_chart.ts";
import { renderJobDiff } from "./diff_text.ts";
import { formatGpuVerdict } from "./diff_verdict.ts";
import { escapeHtml } from "./html.ts";
import { cellOfBytes, formatShortCommand } from "./snapshot_columns.ts";

const STYLE = `
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --faint: #59636e; --line: #d1d9e0; --bad: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #0f1318; --ink: #e6eaef; --faint: #9aa5b1; --line: #30363d; --bad: #ff8a80; }
}
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; color: var(--faint); }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.bad { color: var(--bad); font-weight: 600; } .faint { color: var(--faint); }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--faint); font: 11px system-ui, sans-serif; }
.axis { stroke: var(--line); } .total { fill: none; stroke: var(--ink); stroke-width: 1.5; } .mark { stroke: var(--faint); stroke-dasharray: 4 3; }
ul.key { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; } ul.key span { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); padding: .8rem; font-size: 13px; }`;

/** Renders the report. The series may lack a GPU that no sample had. */
export function renderJobHtml(diff: JobDiff, series: MemorySeries): string {
  const title = `gpuctl diff: ${printable(quoteArguments(diff.command))}`;
  const shown = diff.gpus.filter(({ uuid, verdict }) =>
    series.gpus.has(uuid) && verdict.kind !== "unchanged"
  );
  const charts = shown.map((gpu, place) => chartOf(gpu, place, diff, series));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(title)}</title>
<style>${STYLE}
</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${
    diff.simulated
      ? `<p class="bad">Simulated server: no real GPU is behind these numbers.</p>\n`
      : ""
  }<p class="faint">${escapeHtml(subtitle(diff))}</p>
${summaryTable(diff)}
${charts.join("\n")}
<h2>Report</h2>
<pre>${escapeHtml(renderJobDiff(diff))}</pre>
</body>
</html>
`;
}

function subtitle({ takenAt, host, ranFor, end, hasTimedOut, interval, samples }: JobDiff): string {
  const how = hasTimedOut
    ? "ran out of time"
    : end.kind === "exited"
    ? `status ${end.status}`
    : `ended by ${formatSignal(end.signal)}`;
  const where = host.name.ok ? `${printable(host.name.value)}, ` : "";
  const when = takenAt.ok ? `${takenAt.value}, ` : "";
  return `${where}${when}${formatDuration(ranFor)}, ${how}; ${samples} samples, one every ${
    formatDuration(interval)
  }`;
}

function summaryTable({ gpus }: JobDiff): string {
  const rows = gpus.map((gpu) =>
    `<tr><th scope="row">GPU ${gpu.index}${
      gpu.name.ok ? ` <span class="faint">${escapeHtml(printable(gpu.name.value))}</span>` : ""
    }</th>${
      [gpu.before, gpu.peak, gpu.after, gpu.left].map((value) =>
        `<td class="number">${escapeHtml(cellOfBytes(value))}</td>`
      ).join("")
    }<td${isBad(gpu) ? ' class="bad"' : ""}>${escapeHtml(printable(formatGpuVerdict(gpu)))}</td></tr>`
  );
  const heads = ["Before", "Peak", "After", "Left"].map((head) =>
    `<th scope="col" class="number">${head}</th>`
  ).join("");
  return `<table>
<caption>Memory of each GPU</caption>
<thead><tr><th scope="col">GPU</th>${heads}<th scope="col">Verdict</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>`;
}

function isBad({ verdict: { kind } }: GpuDiff): boolean {
  return kind === "held" || kind === "held-by-nobody-visible" || kind === "moved";
}

function chartOf(gpu: GpuDiff, place: number, diff: JobDiff, series: MemorySeries): string {
  const memory = series.gpus.get(gpu.uuid);
  if (!memory) throw new Error(`Cannot draw GPU ${gpu.index}: no sample has it`);
  const names = new Map(
    diff.processes.map((
      process,
    ) => [process.pid, `PID ${process.pid} ${printable(formatShortCommand(process))}`]),
  );
  const peak = gpu.peak.ok ? `peak ${formatBytes(gpu.peak.value)}, ` : "";
  const chart: Chart = {
    id: `gpu-${place}`,
    title: `Memory of GPU ${gpu.index} over time`,
    description: `${peak}${printable(formatGpuVerdict(gpu))}. The job ended after ${
      formatDuration(diff.ranFor)
    }.`,
    slot: series.slot,
    end: series.lastAt,
    mark: { at: diff.ranFor, label: "the job ended" },
    total: memory.total,
    layers: [
      { label: "other people's processes", track: memory.others, isOthers: true },
      ...[...memory.processes].map(([pid, track]) => ({
        label: names.get(pid) ?? `PID ${pid}`,
        track,
        isOthers: false,
      })),
      { label: "more processes of the job", track: memory.rest, isOthers: false },
    ],
  };
  return `<h2>GPU ${gpu.index}</h2>\n${renderMemoryChart(chart)}`;
}
