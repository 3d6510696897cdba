import assert from "node:assert/strict";
import { test } from "node:test";
import { foreignVariables, refuseUnknownVariables } from "../../../commands/foreign_variables.ts";
import { newCommand } from "../../../commands/options.ts";

const watch = newCommand("watch", "").option("--json", "").option("--yes", "");
const hold = newCommand("hold", "").option("--set-visible-devices <list>", "");
const program = newCommand("gpuctl", "").addCommand(watch).addCommand(newCommand("sim", "").addCommand(hold));

test("foreignVariables() leaves out a command's own, and what is meant for somebody else", () => {
  const others = [
    ...["PATH", "GPUCTL", "GPUCTL_JSON", "GPUCTL_VERSION", "GPUCTL_NVML_STUB", "GPUCTL_TEST_RUNTIME"],
    ...["GPUCTL_ALERT_JSON", "GPUCTL_SERVICE_HOST", "GPUCTL_SERVICE_PORT_HTTP", "GPUCTL_PORT"],
    ...["GPUCTL_PORT_80_TCP", "GPUCTL_PORT_80_TCP_ADDR", "GPUCTL_METRICS_SERVICE_PORT"],
  ];
  const foreign = ["GPUCTL_YES", "GPUCTL_SUPPORT", "GPUCTL_SET_VISIBLE_DEVICES"];
  assert.deepEqual(foreignVariables([...others, ...foreign], watch), foreign);
});

test("refuseUnknownVariables() takes what is a setting of any command, of its commands too", () => {
  refuseUnknownVariables(["GPUCTL_JSON", "GPUCTL_SET_VISIBLE_DEVICES"], program);
});

test("refuseUnknownVariables() says what was meant, and what must be typed", () => {
  const refusal = (message: string, hint: string | undefined) => ({ failure: "usage", message, hint });
  assert.throws(
    () => refuseUnknownVariables(["GPUCTL_JSOM"], program),
    refusal("Cannot use GPUCTL_JSOM: no command has such an option", "did you mean GPUCTL_JSON?"),
  );
  assert.throws(
    () => refuseUnknownVariables(["GPUCTL_COLOURS"], program),
    refusal(
      "Cannot use GPUCTL_COLOURS: no command has such an option",
      "unset it, or look among the variables that gpuctl man COMMAND lists",
    ),
  );
  assert.throws(
    () => refuseUnknownVariables(["GPUCTL_YES"], program),
    refusal("Cannot use GPUCTL_YES: --yes counts only on the command line", undefined),
  );
});
