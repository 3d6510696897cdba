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
  /** The slots that have a sample; the lines go from one to the next. */
  readonly places: readonly number[];
  readonly slots: number;
  readonly step: number;
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
  const tracks = [total, ...layers.map(({ track }) => track)];
  const places = Array.from(total.keys()).filter((place) =>
    tracks.some((track) => !Number.isNaN(track[place]))
  );
  const tops = places.map((place) => Math.max(at(total, place), ...stackOf(layers, place)));
  const step = roundStep(Math.max(1, ...tops) / GRID_LINES);
  return {
    places,
    slots,
    step,
    x: (place) => round(PLOT.left + place / (slots - 1) * (PLOT.right - PLOT.left)),
    y: (value) => round(PLOT.bottom - value / (step * GRID_LINES) * (PLOT.bottom - PLOT.top)),
  };
}

/** The next of 1, 1.5, 2, 3, 4, 6, 8, ... KiB, MiB and so on: a person can read the lines between. */
function roundStep(least: number): number {
  const power = 2 ** Math.floor(Math.log2(least));
  return [power, power * 1.5, power * 2].find((step) => step >= least) ?? power * 2;
}

/** The upper edge of each layer in one slot, from the bottom up. */
function stackOf(layers: readonly Layer[], place: number): number[] {
  let top = 0;
  return layers.map(({ track }) => top += at(track, place));
}

function areas(layers: readonly Layer[], colours: readonly string[], scale: Scale): string {
  const stacks = scale.places.map((place) => ({ place, edges: [0, ...stackOf(layers, place)] }));
  return layers.map(({ label }, layer) => {
    const edge = (above: number) =>
      stacks.map(({ place, edges }) => `${scale.x(place)},${scale.y(edges[layer + above] ?? 0)}`);
    return `<polygon points="${[...edge(1), ...edge(0).reverse()].join(" ")}" fill="${
      colours[layer]
    }" fill-opacity="0.75"><title>${escapeHtml(label)}</title></polygon>`;
  }).join("\n");
}

function linePath(track: Float64Array, scale: Scale): string {
  const known = scale.places.filter((place) => !Number.isNaN(track[place]));
  return known.map((place, order) =>
    `${order === 0 ? "M" : "L"}${scale.x(place)} ${scale.y(at(track, place))}`
  ).join("");
}

function gridLines(scale: Scale): string {
  return Array.from({ length: GRID_LINES + 1 }, (_, step) => {
    const value = scale.step * step;
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
  return `<ul class="key">\n${items.join("\n")}\n<li>line: all that is in use</li>\n</ul>`;
}

/** The value of a slot; one that was not listed there holds nothing. */
function at(track: Float64Array, place: number): number {
  const value = track[place] ?? NaN;
  return Number.isNaN(value) ? 0 : value;
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}
