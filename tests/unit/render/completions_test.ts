import { test } from "node:test";
import { renderBashCompletions } from "../../../lib/render/completions_bash.ts";
import { renderFishCompletions } from "../../../lib/render/completions_fish.ts";
import { renderZshCompletions } from "../../../lib/render/completions_zsh.ts";
import { PROGRAM } from "../../support/described_program.ts";
import { assertGolden } from "../../support/golden.ts";

test("renderBashCompletions() has a function for each command", () => {
  assertGolden("completions/gpuctl.bash", renderBashCompletions(PROGRAM));
});

test("renderZshCompletions() has a function for each command", () => {
  assertGolden("completions/gpuctl.zsh", renderZshCompletions(PROGRAM));
});

test("renderFishCompletions() has a line for each command and option", () => {
  assertGolden("completions/gpuctl.fish", renderFishCompletions(PROGRAM));
});
