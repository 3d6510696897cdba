import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { DriverReport, Gpu } from "../../../lib/model/gpu.ts";
import { contextsOf } from "../../../lib/model/gpu.ts";
import { cleanText } from "../../../lib/source/smi/clean.ts";
import { parseSmiText, recogniseText, type SmiReading } from "../../../lib/source/smi/parse.ts";
import { findAbsence, findName, isCutName } from "../../../lib/source/smi/values.ts";
import { readSmiFixture, readSmiManifest } from "../../support/smi_fixtures.ts";

const MIB = 1024 ** 2;
const TEXTS = readSmiManifest().map(({ file }) => readSmiFixture(file)).filter((text) => text.length < 8000);
/** Pieces of output, to be put where they do not belong. */
const TOKENS = [
  ...[
    "|",
    "+----",
    "|====|",
    "\n",
    "\n\n",
    ", ",
    " : ",
    "MiB",
    " 5 MiB",
    "9MiB |",
    "[N/A]",
    "ERR!",
    "N/A",
    "C",
    "M+C",
  ],
  ...[
    "GPU 00000000:01:00.0",
    "<gpu>",
    "</gpu>",
    "<processes>",
    "&amp;",
    "<!-- ",
    "]]>",
    "\x1b[4m",
    "\t",
    "> ",
    "# gpu",
  ],
  ...[
    "GPU-00000001-0000-0000-0000-000000000000",
    "0000:01:00.0",
    "[GPU requires reset]",
    "No devices were found",
    "\0",
  ],
];

/** Reads a text as every caller must be able to: a reading, or a SyntaxError. */
function attempt(text: string): SmiReading | undefined {
  try {
    return parseSmiText(text);
  } catch (error) {
    assert.ok(error instanceof SyntaxError, `threw ${error}`);
    return undefined;
  }
}

/** Every number of MiB and every pid that a report claims. */
function claimsOf({ gpus }: DriverReport): number[] {
  return gpus.flatMap((gpu: Gpu) => {
    const contexts = contextsOf(gpu.processList);
    const mig = gpu.migInstances.ok ? gpu.migInstances.value : [];
    const readings = [
      ...[gpu.memoryTotal, gpu.memoryUsed, gpu.memoryFree, gpu.memoryReserved],
      ...contexts.map(({ used }) => used),
      ...mig.flatMap(({ memoryTotal, memoryUsed }) => [memoryTotal, memoryUsed]),
    ];
    const sizes = readings.flatMap((reading) => reading.ok ? [reading.value / MIB] : []);
    return [...sizes, ...contexts.map(({ pid }) => pid)];
  });
}

/** Whole numbers in a text; also such as a line break has cut, which a folded table may put together again. */
function numbersOf(text: string): ReadonlySet<number> {
  const clean = cleanText(text);
  const runs = [clean, clean.replaceAll("\n", "")].flatMap((form) => form.match(/\d+/g) ?? []);
  return new Set(runs.map(Number));
}

function assertClaimsStand(text: string): void {
  const reading = attempt(text);
  if (!reading?.report.ok) return;
  const numbers = numbersOf(text);
  assert.deepEqual(claimsOf(reading.report.value).filter((claim) => !numbers.has(claim)), []);
}

const arbitraryEdit = fc.record({
  at: fc.nat(8000),
  remove: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(200)),
  insert: fc.oneof(
    fc.constant(""),
    fc.constantFrom(...TOKENS),
    fc.string({ maxLength: 5 }),
    fc.nat(99999).map(String),
  ),
});

test("parseSmiText() reads any text or throws a SyntaxError", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
    attempt(text);
    recogniseText(text);
  }));
});

test("parseSmiText() claims no number that is not in a text made of pieces of output", () => {
  const pieces = fc.array(
    fc.oneof(fc.constantFrom(...TOKENS), fc.nat(99999).map(String), fc.constantFrom(" ", "x")),
    {
      maxLength: 60,
    },
  );
  const lines = fc.array(fc.constantFrom(...TEXTS.flatMap((text) => text.split("\n"))), { maxLength: 30 });
  fc.assert(
    fc.property(pieces, lines, (some, others) => assertClaimsStand(`${some.join("")}\n${others.join("\n")}`)),
    {
      numRuns: 300,
    },
  );
});

test("parseSmiText() claims no number that is not in a damaged output", () => {
  const edits = fc.array(arbitraryEdit, { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.constantFrom(...TEXTS), edits, (text, changes) => {
      let damaged = text;
      for (const { at, remove, insert } of changes) {
        const place = at % (damaged.length + 1);
        damaged = damaged.slice(0, place) + insert + damaged.slice(place + remove);
      }
      assertClaimsStand(damaged);
    }),
    { numRuns: 1000 },
  );
});

test("parseSmiText() claims no number of an output cut at any place", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...TEXTS),
      fc.nat(8000),
      (text, at) => assertClaimsStand(text.slice(0, at % text.length)),
    ),
    { numRuns: 500 },
  );
});

/** Names that a process can give itself: no line break, and nothing that a terminal's log would lose. */
const arbitraryName = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((name) =>
  name === name.trim() && !/[\p{Cc}\p{Z}\p{Cf}\p{Cs}\ufeff]/u.test(name.replaceAll(" ", "")) &&
  findName(name) === name &&
  !isCutName(name) && !name.startsWith(">")
);
const arbitraryMemory = fc.nat(200_000);
const arbitraryPid = fc.integer({ min: 1, max: 4_194_304 });

function firstContext(text: string): unknown {
  const { report } = parseSmiText(text);
  const [gpu] = report.ok ? report.value.gpus : [];
  const [context, ...others] = gpu ? contextsOf(gpu.processList) : [];
  assert.deepEqual(others, []);
  return context;
}

test("parseSmiText() reads back any process of a query, whatever its name holds", () => {
  fc.assert(fc.property(arbitraryName, arbitraryPid, arbitraryMemory, (name, pid, memory) => {
    const text =
      `gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-00000001, ${pid}, ${name}, ${memory} MiB\n`;
    const expected = { pid, kind: "compute", used: { ok: true, value: memory * MIB }, name };
    assert.deepEqual(firstContext(text), expected);
  }));
});

test("parseSmiText() reads back any process of the XML, whatever its name holds", () => {
  const escape = (name: string) =>
    name.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  fc.assert(fc.property(arbitraryName, arbitraryPid, arbitraryMemory, (name, pid, memory) => {
    const text =
      `<nvidia_smi_log><gpu id="00000000:01:00.0"><processes><process_info><pid>${pid}</pid><type>G</type>
<process_name>${
        escape(name)
      }</process_name><used_memory>${memory} MiB</used_memory></process_info></processes></gpu></nvidia_smi_log>`;
    const expected = { pid, kind: "graphics", used: { ok: true, value: memory * MIB }, name };
    assert.deepEqual(firstContext(text), expected);
  }));
});

test("parseSmiText() reads back any process of a table, whatever its name holds, also without its header", () => {
  const head = [
    "| Processes:                                                                  |",
    "|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |",
    "|        ID   ID                                                   Usage      |",
  ];
  const short = arbitraryName.filter((name) => name.length <= 29);
  fc.assert(fc.property(short, arbitraryPid, arbitraryMemory, fc.boolean(), (name, pid, memory, hasHead) => {
    const size = `${memory}MiB`.padStart(40 - name.length);
    const row = `|    0   N/A  N/A  ${String(pid).padStart(8)}      C   ${name}${size} |`;
    const expected = { pid, kind: "compute", used: { ok: true, value: memory * MIB }, name };
    assert.deepEqual(firstContext(hasHead ? [...head, row].join("\n") : row), expected);
  }));
});

test("parseSmiText() gives no value where the output has a word for none", () => {
  const words = [
    "[N/A]",
    "N/A",
    "[Not Supported]",
    "[Unknown Error]",
    "[GPU is lost]",
    "[GPU requires reset]",
    "ERR!",
  ];
  const fields = [
    "memory.total",
    "memory.used",
    "memory.free",
    "memory.reserved",
    "utilization.gpu",
  ] as const;
  const names = {
    "memory.total": "memoryTotal",
    "memory.used": "memoryUsed",
    "memory.free": "memoryFree",
    "memory.reserved": "memoryReserved",
    "utilization.gpu": "utilization",
  } as const;
  fc.assert(fc.property(fc.constantFrom(...fields), fc.constantFrom(...words), (field, word) => {
    const { report } = parseSmiText(
      `index, ${fields.join(", ")}\n0, ${fields.map((name) => name === field ? word : "5").join(", ")}\n`,
    );
    const reading = report.ok ? report.value.gpus[0]?.[names[field]] : undefined;
    assert.deepEqual(reading, findAbsence(word));
  }));
});

test("recogniseText() knows the kind that parseSmiText() reads", () => {
  fc.assert(fc.property(fc.constantFrom(...TEXTS), fc.constantFrom(...TEXTS), (one, other) => {
    const text = `${one}\n${other}`;
    const reading = attempt(text);
    if (reading) assert.equal(recogniseText(text), reading.kind);
  }));
});
