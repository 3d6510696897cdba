import { test } from "node:test";
import assert from "node:assert/strict";
import fc from "fast-check";
import { renderSnapshotTable } from "../../../lib/render/snapshot_table.ts";
import { anySnapshot } from "../../support/snapshots.ts";

const screens = fc.option(
  fc.record({ columns: fc.integer({ min: 1, max: 200 }), hasColour: fc.constant(false) }),
  {
    nil: undefined,
  },
);

test("renderSnapshotTable() never writes anything that a terminal obeys, whatever processes call themselves", () => {
  fc.assert(fc.property(anySnapshot, screens, (snapshot, screen) => {
    assert.doesNotMatch(
      renderSnapshotTable(snapshot, screen).replaceAll("\n", ""),
      /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/u,
    );
  }));
});

test("renderSnapshotTable() names every holder and every ghost, however many there are", () => {
  fc.assert(fc.property(anySnapshot, (snapshot) => {
    const text = renderSnapshotTable(snapshot);
    const named = new Set(
      [...text.matchAll(/(\d+)(?:-(\d+))?/g)].flatMap(([, first, last]) => numbers(first, last)),
    );
    for (const { pid } of [...snapshot.holders, ...snapshot.ghosts]) {
      assert.ok(named.has(pid), `${pid} in\n${text}`);
    }
  }));
});

test("renderSnapshotTable() ends every line, has no blanks before line ends and no two empty lines", () => {
  fc.assert(fc.property(anySnapshot, screens, (snapshot, screen) => {
    const text = renderSnapshotTable(snapshot, screen);
    assert.match(text, /[^\n]\n$/);
    assert.doesNotMatch(text, / \n|\n\n\n/);
  }));
});

function numbers(first: string | undefined, last: string | undefined): number[] {
  const start = Number(first);
  const end = last === undefined ? start : Number(last);
  return Array.from({ length: Math.min(Math.max(1, end - start + 1), 100) }, (_, place) => start + place);
}
