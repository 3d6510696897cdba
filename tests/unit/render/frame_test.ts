import assert from "node:assert/strict";
import { test } from "node:test";
import { Frame } from "../../../lib/render/frame.ts";

const [NO_WRAP, WRAP] = ["\x1b[?7l", "\x1b[?7h"];
const SIZE = { columns: 80, rows: 24 };

test("Frame draws over what it drew before, and erases what is left of it", () => {
  const frame = new Frame();
  assert.equal(frame.draw("one\ntwo\n", SIZE), `${NO_WRAP}\rone\x1b[K\ntwo\x1b[K\n\x1b[J${WRAP}`);
  assert.equal(frame.draw("three\n", SIZE), `${NO_WRAP}\r\x1b[2Athree\x1b[K\n\x1b[J${WRAP}`);
  assert.equal(frame.draw("four\n", SIZE), `${NO_WRAP}\r\x1b[1Afour\x1b[K\n\x1b[J${WRAP}`);
});

test("Frame draws no more lines than the terminal shows, and says what is missing", () => {
  const text = Array.from({ length: 10 }, (_, line) => `${line}\n`).join("");
  const drawn = new Frame().draw(text, { columns: 80, rows: 5 });
  assert.equal(
    drawn,
    `${NO_WRAP}\r0\x1b[K\n1\x1b[K\n2\x1b[K\n... 7 more lines: make the window taller\x1b[K\n\x1b[J${WRAP}`,
  );
  assert.equal(new Frame().draw(text, { columns: 80 }).split("\n").length, 11);
});

test("Frame begins anew on a clear screen where the terminal has another size", () => {
  const frame = new Frame();
  frame.draw("one\n", SIZE);
  assert.equal(
    frame.draw("one\n", { ...SIZE, columns: 60 }),
    `${NO_WRAP}\x1b[H\x1b[2Jone\x1b[K\n\x1b[J${WRAP}`,
  );
});
