import assert from "node:assert/strict";
import { test } from "node:test";
import { CHECKS, chooseChecks, endingOfChecks } from "../../../../lib/analysis/doctor/checks.ts";
import { worstVerdict } from "../../../../lib/analysis/doctor/verdict.ts";
import { CHECK_IDS, type CheckStatus } from "../../../../lib/model/doctor.ts";

function idsOf(choice: ReturnType<typeof chooseChecks>): readonly string[] {
  return choice.kind === "checks" ? choice.checks.map(({ id }) => id) : [];
}

test("CHECKS are those that the documents name, in their order", () => {
  assert.deepEqual(CHECKS.map(({ id }) => id), CHECK_IDS);
});

test("chooseChecks() takes whole ids and what stands before a dot, and leaves out what is skipped", () => {
  assert.deepEqual(idsOf(chooseChecks({})), CHECK_IDS);
  assert.deepEqual(idsOf(chooseChecks({ only: ["mig", "memory"] })), [
    "memory.holders-left-behind",
    "memory.ghosts",
    "memory.unattributed",
    "mig",
  ]);
  assert.deepEqual(idsOf(chooseChecks({ only: ["memory"], skip: ["memory.ghosts"] })), [
    "memory.holders-left-behind",
    "memory.unattributed",
  ]);
  assert.deepEqual(idsOf(chooseChecks({ only: [] })), []);
});

test("chooseChecks() names what is wrong, and the nearest right name", () => {
  assert.deepEqual(chooseChecks({ only: ["memry"] }), { kind: "unknown", name: "memry", near: "memory" });
  assert.deepEqual(chooseChecks({ skip: ["framework.troch"] }), {
    kind: "unknown",
    name: "framework.troch",
    near: "framework.torch",
  });
  assert.deepEqual(chooseChecks({ only: ["memory."] }), { kind: "unknown", name: "memory.", near: "memory" });
  assert.deepEqual(chooseChecks({ only: ["xyzzyxyzzy"] }), {
    kind: "unknown",
    name: "xyzzyxyzzy",
    near: undefined,
  });
});

test("endingOfChecks() lets a finding outweigh what is not known, and calls nothing fine that was not checked", () => {
  const of = (...statuses: readonly CheckStatus[]) => endingOfChecks(statuses.map((status) => ({ status })));
  assert.equal(of("ok", "skipped"), "ok");
  assert.equal(of("ok", "unknown"), "unavailable");
  assert.equal(of("ok", "unknown", "finding"), "finding");
  assert.equal(of("skipped"), "unavailable");
  assert.equal(of(), "unavailable");
});

test("worstVerdict() puts what is worst first, and says each thing once", () => {
  assert.deepEqual(
    worstVerdict([
      { status: "ok", evidence: ["fine", "same"] },
      { status: "unknown", evidence: ["dark"], fix: "look" },
      { status: "finding", evidence: ["bad", "same"], fix: "mend" },
    ]),
    { status: "finding", evidence: ["bad", "same", "dark", "fine"], fix: "mend" },
  );
  assert.deepEqual(worstVerdict([]), { status: "unknown", evidence: ["there was nothing to look at"] });
});
