/** One GPU's memory over time as an SVG drawing: stacked areas, the total as a line, and the moment the job ended. */
import { bytes, formatBytes, formatDuration, type Milliseconds, milliseconds } from "../core/units.ts";
import { escapeHtml } from "./html.ts";

export interface Layer {
  readonly label: string;
  /** One value a slot; NaN where nothing was read. */
  readonly track: Float64Array;
  readonly isOthers: boolean;
}

export interface Chart {
  /** Makes the names of its parts unique on the page. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly slot: Milliseconds;
  readonly end: Milliseconds;
  readonly mark: { readonly at: Milliseconds; readonly label: string };
  readonly total: Float64Array;
  /** From the bottom up. */
  readonly layers: readonly Layer[];
}

const WIDTH = 960;
const HEIGHT = 260;
const PLOT = { left: 76, right: 944, top: 16, bottom: 224 } as const;
const GRID_LINES = 4;
/** Grey for other people; for the job, hues that stay apart on white and on black and for the colour-blind. */
const OTHERS_COLOUR = "#8b949e";
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a000"];

interface Scale {
  x(place: number): string;
  y(bytes: number): string;
  readonly slots: number;
  readonly highest: number;
}

/** Draws a chart with its key. */
export function renderMemoryChart(chart: Chart): string {
  const layers = chart.layers.filter(({ track }) => track.some((value) => value > 0));
  const scale = scaleOf(chart);
  const colours = layers.map(({ isOthers }, place) => {
    const job = layers.slice(0, place).filter((layer) => !layer.isOthers).length;
    return isOthers ? OTHERS_COLOUR : COLOURS[job % COLOURS.length] ?? OTHERS_COLOUR;
  });
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="${chart.id}-title ${chart.id}-text">
<title id="${chart.id}-title">${escapeHtml(chart.title)}</title>
<desc id="${chart.id}-text">${escapeHtml(chart.description)}</desc>
${gridLines(scale)}
${areas(layers, colours, scale)}
<path class="total" d="${linePath(chart.total, scale)}"/>
${markLine(chart, scale)}
${timeLabels(chart)}
</svg>
${key(layers, colours)}`;
}

function scaleOf({ slot, end, total, layers }: Chart): Scale {
  const slots = Math.max(2, Math.min(total.length, Math.ceil(end / slot) + 1));
  const values = [...total, ...stackOf(layers, total.length)].filter((value) => !Number.isNaN(value));
  const highest = Math.max(1, ...values) * 1.05;
  return {
    slots,
    highest,
    x: (place) => round(PLOT.left + place / (slots - 1) * (PLOT.right - PLOT.left)),
    y: (value) => round(PLOT.bottom - value / highest * (PLOT.bottom - PLOT.top)),
  };
}

/** The top of all layers in each slot. */
function stackOf(layers: readonly Layer[], slots: number): Float64Array {
  const stack = new Float64Array(slots);
  for (const { track } of layers) {
    for (let place = 0; place < slots; place++) stack[place] = at(stack, place) + at(track, place);
  }
  return stack;
}

function areas(layers: readonly Layer[], colours: readonly string[], scale: Scale): string {
  let floor = new Float64Array(scale.slots);
  return layers.map(({ label, track }, place) => {
    const filled = fillGaps(track, scale.slots);
    const roof = floor.map((value, slot) => value + at(filled, slot));
    const up = Array.from(roof, (value, slot) => `${scale.x(slot)},${scale.y(value)}`);
    const down = Array.from(floor, (value, slot) => `${scale.x(slot)},${scale.y(value)}`).reverse();
    floor = roof;
    return `<polygon points="${[...up, ...down].join(" ")}" fill="${
      colours[place]
    }" fill-opacity="0.75"><title>${escapeHtml(label)}</title></polygon>`;
  }).join("\n");
}

/** A slot without a sample between two with one takes the value before it: a slow sample is no gap in use. */
function fillGaps(track: Float64Array, slots: number): Float64Array {
  const filled = track.slice(0, slots);
  const last = filled.findLastIndex((value) => !Number.isNaN(value));
  for (let place = 1; place < last; place++) {
    if (Number.isNaN(at(filled, place, NaN))) filled[place] = at(filled, place - 1, NaN);
  }
  return filled;
}

function linePath(track: Float64Array, scale: Scale): string {
  const filled = fillGaps(track, scale.slots);
  let path = "";
  for (const [place, value] of filled.entries()) {
    if (Number.isNaN(value)) continue;
    path += `${path === "" ? "M" : "L"}${scale.x(place)} ${scale.y(value)}`;
  }
  return path;
}

function gridLines(scale: Scale): string {
  return Array.from({ length: GRID_LINES + 1 }, (_, step) => {
    const value = scale.highest * step / GRID_LINES;
    const y = scale.y(value);
    return `<line class="axis" x1="${PLOT.left}" x2="${PLOT.right}" y1="${y}" y2="${y}"/><text x="${
      PLOT.left - 8
    }" y="${y}" text-anchor="end" dominant-baseline="middle">${formatBytes(bytes(Math.round(value)))}</text>`;
  }).join("\n");
}

function markLine({ mark, slot }: Chart, scale: Scale): string {
  const x = scale.x(Math.min(scale.slots - 1, mark.at / slot));
  return `<line class="mark" x1="${x}" x2="${x}" y1="${PLOT.top}" y2="${PLOT.bottom}"/><text x="${x}" y="${
    PLOT.top - 4
  }" text-anchor="end">${escapeHtml(mark.label)}</text>`;
}

function timeLabels({ end }: Chart): string {
  return [[PLOT.left, 0, "start"], [(PLOT.left + PLOT.right) / 2, 0.5, "middle"], [PLOT.right, 1, "end"]].map(
    ([x, share, anchor]) =>
      `<text x="${x}" y="${PLOT.bottom + 20}" text-anchor="${anchor}">${
        formatDuration(milliseconds(end * Number(share)))
      }</text>`,
  ).join("\n");
}

function key(layers: readonly Layer[], colours: readonly string[]): string {
  if (layers.length === 0) return "";
  const items = layers.map(({ label }, place) =>
    `<li><span style="background:${colours[place]}"></span>${escapeHtml(label)}</li>`
  );
  return `<ul class="key">\n${items.join("\n")}\n</ul>`;
}

function at(track: Float64Array, place: number, missing = 0): number {
  const value = track[place] ?? NaN;
  return Number.isNaN(value) ? missing : value;
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}
