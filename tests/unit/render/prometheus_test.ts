import assert from "node:assert/strict";
import { test } from "node:test";
import { renderPrometheus } from "../../../lib/render/prometheus.ts";

const head = { name: "x", help: "What x is.", labels: ["a", "b"] };

test("renderPrometheus() writes help, type and samples of each metric, and nothing of one without samples", () => {
  assert.equal(
    renderPrometheus([
      { ...head, samples: [{ labels: ["1", "2"], value: 0.25 }, { labels: [], value: 1e21 }] },
      { ...head, name: "y", samples: [] },
    ], ["a remark"]),
    '# a remark\n# HELP x What x is.\n# TYPE x gauge\nx{a="1",b="2"} 0.25\nx 1e+21\n',
  );
});

test("renderPrometheus() escapes backslash, quote and line end, and shows what else could do harm", () => {
  const [sample = ""] = renderPrometheus([{
    ...head,
    samples: [{ labels: ['C:\\dir "x"\nnext\x1b[2J\r\0', "\ud800\u202e訓練"], value: 1 }],
  }]).split("\n").slice(2);
  assert.equal(
    sample,
    'x{a="C:\\\\dir \\"x\\"\\nnext\\\\u{1b}[2J\\\\u{d}\\\\u{0}",b="\\\\u{d800}\\\\u{202e}訓練"} 1',
  );
});

test("renderPrometheus() leaves out labels that are not known or empty, which are the same to Prometheus", () => {
  const samples = [{ labels: [undefined, "2"], value: 1 }, { labels: ["", "2"], value: 2 }];
  assert.equal(
    renderPrometheus([{ ...head, samples }]),
    '# HELP x What x is.\n# TYPE x gauge\nx{b="2"} 1\n',
  );
});
