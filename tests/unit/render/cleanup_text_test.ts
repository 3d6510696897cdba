import assert from "node:assert/strict";
import { test } from "node:test";
import { absent, known } from "../../../lib/core/reading.ts";
import { gpuIndex, gpuUuid, pid } from "../../../lib/core/ids.ts";
import { bytes } from "../../../lib/core/units.ts";
import type { Cleanup } from "../../../lib/model/cleanup.ts";
import { formatUnproven, renderCleanup } from "../../../lib/render/cleanup_text.ts";
import { PLAIN } from "../../../lib/render/colour.ts";
import { widthOf } from "../../../lib/render/layout.ts";
import { actOf, CLEAN } from "../../support/cleanups.ts";

const lastLine = (more: Partial<Cleanup>) =>
  renderCleanup({ ...CLEAN, ...more }).trimEnd().split("\n").at(-1);
const holder = { pid: pid(900), class: "orphan", why: "is younger than 30 s", isSpared: true } as const;
const SPARED = "Nothing may be ended yet: 1 of 1 holder left behind, spared for the reasons above. " +
  "Wait, or name with --pid who is young or at work.";
const sight = (more: Partial<Cleanup["sight"]>) => ({ sight: { ...CLEAN.sight, ...more } });

test("renderCleanup() calls a machine clean only as far as it was seen", () => {
  assert.equal(lastLine({}), "Nothing to clean: 0 holders, none of them left behind.");
  assert.equal(
    lastLine(sight({ isOwnOnly: true })),
    "Nothing of yours to clean: 0 holders, none of them left behind.",
  );
  assert.equal(
    lastLine(sight({ gaps: ["Not every process was looked at"] })),
    "Not every process was looked at: that is not the same as nothing to clean.",
  );
  assert.equal(
    lastLine({ unreadGpus: [gpuIndex(0), gpuIndex(2)] }),
    "Who holds GPU 0,2 could not be read: that is not the same as nothing to clean.",
  );
  assert.equal(
    lastLine({ kept: [holder] }),
    SPARED,
  );
  assert.equal(
    lastLine({ kept: [{ ...holder, why: "was not asked for (--pid)", isSpared: false }] }),
    "Nothing to end: 1 of 1 holder left behind, and left alone for the reasons above.",
  );
});

test("renderCleanup() says of memory of the dead that nothing may be ended only where nobody is spared for now", () => {
  const ghosts: Cleanup["ghosts"] = [{
    pid: pid(794),
    gpu: gpuUuid("GPU-00000000-0000-0000-0000-000000000000"),
    contextBytes: known(bytes(1024 ** 3)),
    likelyHolders: [],
  }];
  assert.equal(lastLine({ ghosts, kept: [holder] }), SPARED);
  const nothing = "Memory is held, and there is nothing that may be ended.";
  assert.equal(lastLine({ ghosts, kept: [{ ...holder, isSpared: false }] }), nothing);
  assert.equal(lastLine({ ghosts }), nothing);
});

test("renderCleanup() says of a total that is less than its rows that it counts once what they share", () => {
  const acts = [actOf("ended"), { ...actOf("ended"), pid: pid(901) }];
  const plan = { isPlan: true, acts: [actOf("planned"), { ...actOf("planned"), pid: pid(901) }] };
  const held = { heldBytes: bytes(4 * 1024 ** 3) };
  assert.equal(
    lastLine({ acts, ...held }),
    "2 processes ended, 4 GiB (what they share counted once) came back.",
  );
  assert.equal(
    lastLine({ ...plan, ...held }),
    "2 processes would be ended, holding 4 GiB (what they share counted once). " +
      "Nothing was done: --yes carries it out.",
  );
  assert.equal(lastLine({ acts, heldBytes: bytes(8 * 1024 ** 3) }), "2 processes ended, 8 GiB came back.");
});

test("renderCleanup() says once what could not be seen, and sets apart what does not count", () => {
  const text = renderCleanup({
    ...CLEAN,
    ...sight({ limits: ["PID 1 could not be looked into, not even by root"] }),
    problems: [
      { subject: "descriptors", reason: absent("no-permission"), message: "said better by the sight" },
      { subject: "GPU 3", reason: absent("lost"), message: "GPU 3 cannot be read" },
    ],
  });
  assert.equal(
    text,
    "Not seen: GPU 3 cannot be read\n" +
      "Note: PID 1 could not be looked into, not even by root\n" +
      "Nothing to clean: 0 holders, none of them left behind.\n",
  );
});

test("renderCleanup() keeps to the width of the terminal", () => {
  const text = renderCleanup({
    ...CLEAN,
    acts: [actOf("ended")],
    heldBytes: bytes(1024 ** 3),
    kept: [{
      ...holder,
      why: "the process that started it has ended, and nothing shows that it was left by mistake",
    }],
    ...sight({
      limits: ["40 processes of other users were not looked into: without root only your own are ended"],
    }),
  }, { width: 60, paint: PLAIN });
  assert.deepEqual(text.split("\n").filter((line) => widthOf(line) > 60), []);
  assert.match(
    text,
    /^ {2}PID 900 {2}orphan: the process that started it has ended,\n {11}and nothing shows/m,
  );
});

test("formatUnproven() says all that is missing in one sentence", () => {
  assert.equal(
    formatUnproven({ unreadGpus: [gpuIndex(1)], ...sight({ gaps: ["Not every process was looked at"] }) }),
    "Who holds GPU 1 could not be read; Not every process was looked at: that is not the same as nothing to clean.",
  );
});
