import assert from "node:assert/strict";
import { test } from "node:test";
import { repeatOption } from "../../../lib/core/own_commands.ts";

const OPTION = "--source 'sim:/tmp/a b'";

test("repeatOption() names the machine in every command that looks at one, once", () => {
  const sentences = [
    [
      "To end it safely: gpuctl clean-zombies --pid 5.",
      `To end it safely: gpuctl clean-zombies ${OPTION} --pid 5.`,
    ],
    ["run it as root: sudo gpuctl doctor", `run it as root: sudo gpuctl doctor ${OPTION}`],
    ["gpuctl reset-gpu 3; gpuctl snapshot", `gpuctl reset-gpu ${OPTION} 3; gpuctl snapshot ${OPTION}`],
    ["gpuctl --help lists the commands", "gpuctl --help lists the commands"],
    ["gpuctl snapshot --help says what it takes", "gpuctl snapshot --help says what it takes"],
    ["gpuctl verify-isolation --lint finds where", "gpuctl verify-isolation --lint finds where"],
    ["it takes gpuctl snapshots", "it takes gpuctl snapshots"],
    ["gpuctl systemd print shows the units", "gpuctl systemd print shows the units"],
    ["Ask its owner.", "Ask its owner."],
  ] as const;
  for (const [plain, named] of sentences) {
    assert.equal(repeatOption(plain, OPTION), named);
    assert.equal(repeatOption(named, OPTION), named);
    assert.equal(repeatOption(plain, undefined), plain);
  }
});
