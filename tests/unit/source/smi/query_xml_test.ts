import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSmiText, recogniseText } from "../../../../lib/source/smi/parse.ts";
import { readSmiFixture } from "../../../support/smi_fixtures.ts";
import { type SmiSummary, summarise } from "../../../support/smi_summary.ts";

function read(text: string): SmiSummary {
  return summarise(parseSmiText(text));
}

function gpuXml(inner: string): string {
  return `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v9.dtd">
<nvidia_smi_log>
<driver_version>390.48</driver_version><attached_gpus>1</attached_gpus>
<gpu id="0000:01:00.0"><uuid>GPU-00000001-0000-0000-0000-000000000000</uuid>${inner}</gpu>
</nvidia_smi_log>
`;
}

test("parseSmiText() reads XML of drivers before 450: no instances, no reserved memory", () => {
  const { gpus, driver } = read(gpuXml(`
<fb_memory_usage><total>8119 MiB</total><used>531 MiB</used><free>7588 MiB</free></fb_memory_usage>
<processes><process_info><pid>31794</pid><type>C+G</type><process_name>a &amp; b &lt;c&gt;</process_name>
<used_memory>371 MiB</used_memory></process_info></processes>`));
  assert.deepEqual({ gpus, driver }, {
    driver: "version 390.48",
    gpus: [{
      gpu: "0 GPU-00000001-0000-0000-0000-000000000000",
      values: "bus 00000000:01:00.0; total 8119 MiB; used 531 MiB; free 7588 MiB; usedIncludesReserve true",
      list: "known",
      contexts: ["31794 compute+graphics 371 MiB a & b <c>"],
    }],
  });
});

test("parseSmiText() reads words in place of processes as the reason, and no element as no word of them", () => {
  const lists = ["<processes>N/A</processes>", "<processes>\n</processes>", "<processes/>", ""]
    .map((processes) => read(gpuXml(processes)).gpus?.[0]?.list);
  assert.deepEqual(lists, [
    "unknown: !not-supported (N/A)",
    "known",
    "known",
    "unknown: !not-reported (this output shows no processes)",
  ]);
});

test("parseSmiText() reads a process without a pid as a problem, and its list as incomplete", () => {
  const { gpus, problems } = read(
    gpuXml(`<processes><process_info><pid>N/A</pid><used_memory>5 MiB</used_memory>
</process_info></processes>`),
  );
  assert.deepEqual([gpus?.[0]?.list, gpus?.[0]?.contexts, problems], [
    "incomplete: !implausible (1 row could not be read)",
    [],
    ['line 5 | !implausible (N/A) | Cannot read line 5: expected a pid: current value is "N/A"'],
  ]);
});

test("parseSmiText() refuses XML that is cut off, with the place", () => {
  const text = readSmiFixture("xml_590_v13.xml");
  const message =
    "Cannot read the text as output of nvidia-smi -q -x: unclosed tag: used: line 26, column 14";
  assert.throws(() => parseSmiText(text.slice(0, text.indexOf("65720 MiB") + 4)), {
    name: "SyntaxError",
    message,
  });
});

test("parseSmiText() counts the lines above the XML when it refuses it", () => {
  const text = `$ nvidia-smi -q -x\n\n${gpuXml("<a></b>")}`;
  assert.throws(() => parseSmiText(text), {
    name: "SyntaxError",
    message: "Cannot read the text as output of nvidia-smi -q -x: unexpected close tag: line 7, column 84",
  });
});

test("parseSmiText() refuses a DOCTYPE that defines entities, and an entity that nobody defined", () => {
  const bomb = gpuXml("<a>&x;</a>").replace(
    'SYSTEM "nvsmi_device_v9.dtd"',
    '[<!ENTITY x "xxxxxxxxxxxxxxxxxxxx">]',
  );
  assert.throws(() => parseSmiText(bomb), {
    name: "SyntaxError",
    message:
      "Cannot read the text as output of nvidia-smi -q -x: its DOCTYPE defines entities: line 2, column 63",
  });
  assert.throws(() => parseSmiText(gpuXml("<a>&x;</a>")), {
    name: "SyntaxError",
    message: "Cannot read the text as output of nvidia-smi -q -x: undefined entity: line 5, column 83",
  });
});

test("parseSmiText() reads XML with the DTD in it, as --dtd prints it", () => {
  const text = gpuXml("<processes/>").replace(
    'SYSTEM "nvsmi_device_v9.dtd"',
    "[\n<!ELEMENT nvidia_smi_log (timestamp, driver_version, gpu*)>\n<!ATTLIST gpu id CDATA #REQUIRED>\n]",
  );
  assert.deepEqual(read(text), read(gpuXml("<processes/>")));
});

test("parseSmiText() refuses elements nested deeper than any DTD has them", () => {
  assert.throws(() => parseSmiText(gpuXml("<a>".repeat(40))), {
    name: "SyntaxError",
    message:
      "Cannot read the text as output of nvidia-smi -q -x: elements are nested too deeply: line 5, column 170",
  });
});

test("parseSmiText() reads the last of several documents, as -l prints them", () => {
  const text = gpuXml("<minor_number>1</minor_number>") + gpuXml("<minor_number>2</minor_number>");
  const { gpus, problems } = read(text);
  assert.deepEqual([gpus?.length, gpus?.[0]?.values, problems], [
    1,
    "bus 00000000:01:00.0; minor 2; usedIncludesReserve true",
    ["text | !not-reported (query-xml) | The text holds 2 outputs of one kind; the last one, from line 7, was read"],
  ]);
});

test("recogniseText() knows XML that is cut off", () => {
  assert.equal(recogniseText(gpuXml("").slice(0, 130)), "query-xml");
});

test("parseSmiText() keeps 8000 processes of 16 GPUs apart", () => {
  const gpus = Array.from({ length: 16 }, (_, gpu) => {
    const rows = Array.from(
      { length: 500 },
      (_, row) =>
        `<process_info><pid>${
          1000 + gpu * 500 + row
        }</pid><type>C</type><process_name>python</process_name><used_memory>3 MiB</used_memory></process_info>`,
    );
    return `<gpu id="00000000:${(gpu + 16).toString(16)}:00.0"><processes>${
      rows.join("\n")
    }</processes></gpu>`;
  });
  const { report } = parseSmiText(
    `<nvidia_smi_log><attached_gpus>16</attached_gpus>${gpus.join("\n")}</nvidia_smi_log>`,
  );
  const pids = report.ok
    ? report.value.gpus.flatMap(({ processList: list }) =>
      list.state === "known" ? list.contexts.map(({ pid }) => pid) : []
    )
    : [];
  assert.deepEqual([pids.length, pids[0], pids.at(-1), new Set(pids).size], [8000, 1000, 8999, 8000]);
});
