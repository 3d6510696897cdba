import assert from "node:assert/strict";
import { test } from "node:test";
import { tellWaits } from "../../../commands/waiting.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import type { Terminal } from "../../../lib/world/ports.ts";

const SCREEN = { columns: 80, hasColour: false };

function told(
  terminal: Partial<Terminal>,
  options: Parameters<typeof tellWaits>[1] = {},
  atMost = milliseconds(10_000),
): string {
  let text = "";
  const err = (more: string) => void (text += more);
  tellWaits(
    {
      out: () => assert.fail("the answer is not the place"),
      err,
      screen: undefined,
      errorScreen: SCREEN,
      isJournal: false,
      ...terminal,
    },
    options,
  )("the memory to come back", atMost);
  return text;
}

test("tellWaits() says on a terminal what is waited for and for how long at most", () => {
  assert.equal(told({}), "gpuctl: waiting for the memory to come back, at most 10 s\n");
});

test("tellWaits() is silent for a pipe, a journal, --json, --quiet, and a wait that nobody notices", () => {
  assert.deepEqual([
    told({ errorScreen: undefined, screen: SCREEN }),
    told({ isJournal: true }),
    told({}, { json: true }),
    told({}, { quiet: true }),
    told({}, {}, milliseconds(999)),
  ], ["", "", "", "", ""]);
});
