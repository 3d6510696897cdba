import assert from "node:assert/strict";
import { test } from "node:test";
import { milliseconds } from "../../../lib/core/units.ts";
import { renderWatchTable } from "../../../lib/render/watch_table.ts";
import { formatAlert, journalWatchEvent } from "../../../lib/render/watch_text.ts";
import { assertGolden } from "../../support/golden.ts";
import {
  CLEARED,
  DRIVER_ALERT,
  GHOST_ALERT,
  HOSTILE_ALERT,
  WATCH_VIEWS,
  watchView,
} from "../../support/watch_views.ts";
import { WORLDS } from "../../support/worlds.ts";

const interval = milliseconds(1000);

for (const [name, view] of Object.entries(WATCH_VIEWS)) {
  const over = name === "quiet" ? [CLEARED] : [];

  test(`renderWatchTable() shows ${name} as kept`, () => {
    assertGolden(`watch/${name}.txt`, renderWatchTable(view, { screen: undefined, interval, over }));
  });

  test(`renderWatchTable() fits ${name} into a narrow terminal and obeys nobody's escape codes`, () => {
    const text = renderWatchTable(view, { screen: { columns: 60, hasColour: false }, interval, over });
    assertGolden(`watch/${name}.narrow.txt`, text);
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
  });
}

test("renderWatchTable() paints alerts by how bad they are", () => {
  const text = renderWatchTable(WATCH_VIEWS["no-driver"], {
    screen: { columns: 200, hasColour: true },
    interval,
    over: [],
  });
  assert.ok(text.includes(`\x1b[31m  ${formatAlert(DRIVER_ALERT)}\x1b[0m\n`), text);
});

test("renderWatchTable() shows the worst alerts, and how many there are besides", () => {
  const many = Array.from({ length: 10 }, (_, place) => ({ ...GHOST_ALERT, message: `ghost ${place}` }));
  const view = watchView(WORLDS.live, [...many, DRIVER_ALERT]);
  const lines = renderWatchTable(view, { screen: undefined, interval, over: [] }).split("\n");
  assert.deepEqual(
    lines.slice(1, 12).map((line) => line.replace(/[,:].*/, "")),
    [
      "ALERTS",
      "  the driver gives no answer",
      ...Array.from({ length: 7 }, (_, place) => `  ghost ${place}`),
      "  and 3 more",
      "",
    ],
  );
});

test("journalWatchEvent() writes a line at the alert's own priority, whatever a process calls itself", () => {
  const at = "2026-11-30T12:10:00.000Z";
  assert.deepEqual(
    [
      journalWatchEvent({ event: "alert", at, alert: GHOST_ALERT }),
      journalWatchEvent({ event: "alert", at, alert: HOSTILE_ALERT }),
      journalWatchEvent(CLEARED),
    ],
    [
      "<4>PID 794 is dead and still has 2.5 GiB on GPU 0, since 2026-11-30 12:05:00 UTC; most likely kept by PID 812 (python train.py): has GPU 0 mapped. Next: gpuctl clean-zombies --gpu 0 shows how to end safely what keeps it\n",
      "<4>PID 666 (\\u{1b}[2J'; $(touch /tmp/owned)\\u{a}<0>) takes 3.5 GiB more an hour on GPU 0, since 2026-11-30 12:05:00 UTC. Next: look\n",
      "<6>over after 1 min 5 s: the driver gives no answer: no answer in time\n",
    ],
  );
});
