import assert from "node:assert/strict";
import { test } from "node:test";
import { VERSION } from "../../../lib/core/version.ts";
import { everyCommand } from "../../../lib/model/program_description.ts";
import { renderManPage } from "../../../lib/render/man_page.ts";
import { auditPath, runtimePath } from "../../../lib/world/places.ts";
import { PROGRAM } from "../../support/described_program.ts";
import { assertGolden } from "../../support/golden.ts";

function pageOf(path: string): string {
  const found = everyCommand(PROGRAM).find((each) => each.path.join(" ") === path);
  assert.ok(found, path);
  return renderManPage(found, PROGRAM);
}

test("renderManPage() has every section of a command", () => {
  assertGolden("man/gpuctl-look.1", pageOf("look").replace(`gpuctl ${VERSION}`, "gpuctl VERSION"));
});

test("renderManPage() leads from the program to its commands and back", () => {
  const seeAlso = (path: string) => pageOf(path).split('.SH "SEE ALSO"\n')[1]?.replaceAll("\\", "");
  assert.deepEqual([seeAlso(""), seeAlso("sim"), seeAlso("sim init")], [
    "gpuctl-look(1), gpuctl-sim(1), nvidia-smi(1)\n",
    "gpuctl(1), gpuctl-sim-init(1)\n",
    "gpuctl(1), gpuctl-sim(1), gpuctl-look(1)\n",
  ]);
});

test("renderManPage() has the general exit statuses where a command says nothing of its own", () => {
  const terms = [...pageOf("sim init").matchAll(/^\.B "(\d+)"$/gm)].map(([, term]) => term);
  assert.deepEqual(terms, ["0", "1", "2", "3", "4", "5", "6", "10"]);
});

test("renderManPage() names the files where the program keeps them", () => {
  const source = { kind: "nvml" } as const;
  const root = { uid: 0, runtimeDirectory: undefined, stateDirectory: undefined };
  const user = { uid: 7, runtimeDirectory: "/run/user/7", stateDirectory: "~/.local/state" };
  const files = pageOf("").split('.SH "FILES"')[1]?.replaceAll("\\(ti", "~") ?? "";
  const named = [...files.matchAll(/^\.B "(.*)"$/gm)].map(([, path]) => path);
  assert.deepEqual(named, [
    "/etc/gpuctl/config.toml",
    "~/.config/gpuctl/config.toml",
    auditPath(source, root),
    auditPath(source, user),
    runtimePath("", source, root).replace(/\/$/, ""),
    runtimePath("", source, user).replace("/run/user/7", "$XDG_RUNTIME_DIR").replace(/\/$/, ""),
  ]);
});
