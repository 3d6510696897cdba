import assert from "node:assert/strict";
import { test } from "node:test";
import { SaxesParser } from "saxes";
import { MemorySeries } from "../../../lib/analysis/diff_series.ts";
import { known } from "../../../lib/core/reading.ts";
import type { JobSample } from "../../../lib/model/job_sample.ts";
import { renderJobHtml } from "../../../lib/render/diff_html.ts";
import { escapeHtml } from "../../../lib/render/html.ts";
import { assertGolden } from "../../support/golden.ts";
import { evidenceOf, type JobStory, type Look, sampleOf } from "../../support/job_story.ts";
import type { ProcessSpec } from "../../support/machine.ts";
import { diffJob } from "../../../lib/analysis/diff_job.ts";

const worker = (mib: number): ProcessSpec => ({ pid: 900, touch: "context", mib });
const stranger: ProcessSpec = { pid: 300, touch: "context", mib: 1000 };
const LOOKS: readonly Look[] = [
  [0, { processes: [stranger] }],
  [20, { processes: [stranger, worker(2000)] }],
  [40, { processes: [stranger, worker(4000)] }],
  [80, { processes: [stranger, worker(4000)] }],
  [120, { processes: [stranger] }],
];
const STORY: JobStory = {
  before: { processes: [stranger] },
  run: LOOKS.slice(0, 4),
  settle: LOOKS.slice(4),
  after: { processes: [stranger] },
  job: [900],
  ranForMs: 100,
};

function page(command = "python3"): string {
  const series = new MemorySeries();
  for (const look of LOOKS) {
    series.add({ phase: "run", ...sampleOf(look), isJobs: (id) => id === 900 } satisfies JobSample);
  }
  const evidence = evidenceOf(STORY);
  const member = evidence.membership.members.values().next().value;
  assert.ok(member);
  const members = new Map([[member.pid, { ...member, argv: known([command, "job.py"]) }]]);
  const diff = diffJob({
    ...evidence,
    command: [command, "job.py"],
    membership: { members, unplaced: new Set() },
  });
  return renderJobHtml(diff, series);
}

/** The page's elements by name, with their attributes. Throws if a tag is not closed or an attribute not quoted. */
function parse(
  html: string,
): { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[] {
  const elements: { name: string; attributes: Readonly<Record<string, unknown>> }[] = [];
  const parser = new SaxesParser();
  parser.on("opentag", ({ name, attributes }) => elements.push({ name, attributes }));
  parser.on("error", (error) => assert.fail(error.message));
  // The only elements of HTML without an end, and the doctype, which XML spells otherwise.
  parser.write(html.replace(/^<!doctype html>\n/, "").replace(/<meta ([^>]*)>/g, "<meta $1/>")).close();
  return elements;
}

test("renderJobHtml() draws memory over time on one page", () => {
  assertGolden("diff/report.html", page());
});

test("renderJobHtml() gives a page whose every tag is closed, with a name for every drawing", () => {
  const elements = parse(page());
  const drawings = elements.filter(({ name }) => name === "svg");
  const ids = new Set(
    elements.flatMap(({ attributes }) => typeof attributes.id === "string" ? [attributes.id] : []),
  );

  assert.equal(drawings.length, 1);
  for (const { attributes } of drawings) {
    assert.equal(attributes.role, "img");
    for (const id of String(attributes["aria-labelledby"]).split(" ")) assert.ok(ids.has(id), id);
  }
});

test("renderJobHtml() loads nothing and runs nothing", () => {
  const names = new Set(parse(page()).map(({ name }) => name));

  assert.deepEqual(["script", "link", "img", "iframe", "object"].filter((name) => names.has(name)), []);
  assert.doesNotMatch(page(), /https?:|url\(|@import/);
  assert.match(page(), /default-src 'none'; style-src 'unsafe-inline'/);
});

test("renderJobHtml() shows a hostile name as text", () => {
  const html = page('</pre><script>alert("1")</script>\u202e');

  assert.equal(parse(html).some(({ name }) => name === "script"), false);
  assert.doesNotMatch(html, /\u202e/u);
  assert.match(html, /&lt;script&gt;alert\(&quot;1&quot;\)/);
});

test("escapeHtml() escapes what could end a text or an attribute", () => {
  assert.equal(escapeHtml(`<a href="x" id='y'>&`), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
});
