import assert from "node:assert/strict";
import { test } from "node:test";
import { known } from "../../../../lib/core/reading.ts";
import type { Standing } from "../../../../lib/model/doctor_facts.ts";
import { judgeCheck } from "../../../support/doctor_scene.ts";

test("judgeStanding() says that root sees everybody only where it may", () => {
  const evidence = ({ isRoot, mayTrace }: Pick<Standing, "isRoot" | "mayTrace">) =>
    judgeCheck("namespace.pid", {
      facts: { standing: known({ isRoot, mayTrace, isInitialPidNamespace: known(true) }) },
    }).evidence;
  const first = "this is the machine's first PID namespace";
  const others = "what processes of others have open";
  assert.deepEqual(evidence({ isRoot: true, mayTrace: true }), [
    `${first}, and root sees everybody's descriptors`,
  ]);
  assert.deepEqual(evidence({ isRoot: true, mayTrace: false }), [
    `${first}; ${others} this root may not see: it has no CAP_SYS_PTRACE on the machine`,
  ]);
  assert.deepEqual(evidence({ isRoot: false, mayTrace: false }), [`${first}; ${others} only root may see`]);
});
