import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { absent, known } from "../../../lib/core/reading.ts";
import type { PythonInterpreter } from "../../../lib/model/python_packages.ts";
import { readPythonInterpreters } from "../../../lib/world/python_packages.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temporary.ts";

const SITE = "lib/python3.12/site-packages";
const TORCH = "__version__ = '2.5.1+cu124'\ncuda = '12.4'\nhip = None\n";

/** Looks with these variables alone, from inside the folder. */
function look(
  folder: TemporaryFolder,
  variables: Readonly<Record<string, string>>,
  named?: string,
): Promise<readonly PythonInterpreter[]> {
  return readPythonInterpreters({ variable: (name) => variables[name], directory: folder.path, named });
}

/** A program that leaves a mark if anybody runs it. */
function trap(folder: TemporaryFolder, name: string): string {
  const path = folder.write(name, `#!/bin/sh\ntouch ${folder.path}/was-run\n`);
  chmodSync(path, 0o755);
  return path;
}

function venv(
  folder: TemporaryFolder,
  name: string,
  config = "home = /nowhere/bin\nversion = 3.12.4\n",
): string {
  folder.write(`${name}/pyvenv.cfg`, config);
  trap(folder, `${name}/bin/python`);
  mkdirSync(join(folder.path, name, SITE), { recursive: true });
  return join(folder.path, name);
}

function targetsOf(interpreters: readonly PythonInterpreter[]) {
  return interpreters.map(({ path, origin, builds }) => [
    path,
    origin,
    builds.ok
      ? builds.value.map(({ framework, target }) => [framework, target.ok ? target.value : target.why])
      : builds.why,
  ]);
}

test("readPythonInterpreters() reads a virtual environment without starting anything in it", async () => {
  using folder = temporaryFolder();
  const home = venv(folder, "env");
  folder.write(
    `env/${SITE}/torch/version.py`,
    `${TORCH}import os; os.system('touch ${folder.path}/was-run')\n`,
  );
  for (const named of [home, join(home, "bin/python"), "env"]) {
    assert.deepEqual(targetsOf(await look(folder, {}, named)), [
      [join(home, "bin/python"), "--python", [["torch", { kind: "cuda", version: "12.4" }]]],
    ]);
  }
  assert.equal(existsSync(join(folder.path, "was-run")), false);
});

test("readPythonInterpreters() finds what a shell would start, each environment once", async () => {
  using folder = temporaryFolder();
  const env = venv(folder, "env");
  const here = venv(folder, ".venv");
  trap(folder, "planted/python3");
  trap(folder, "opt/bin/python3");
  mkdirSync(join(folder.path, "opt", SITE), { recursive: true });
  folder.write(`opt/${SITE}/jax-0.5.0.dist-info/METADATA`, "");
  folder.write(`opt/${SITE}/jaxlib-0.5.0.dist-info/METADATA`, "");
  const variables = {
    VIRTUAL_ENV: env,
    CONDA_PREFIX: "relative/path",
    // Who may write into the current directory must not choose what root looks at.
    PATH: `${relative(process.cwd(), `${folder.path}/planted`)}:${env}/bin:${folder.path}/opt/bin:/nowhere`,
  };
  assert.deepEqual(targetsOf(await look(folder, variables)), [
    [join(env, "bin/python"), "VIRTUAL_ENV", []],
    [join(here, "bin/python"), ".venv here", []],
    [join(folder.path, "opt/bin/python3"), "python3 on the PATH", [["jax", { kind: "cpu" }]]],
  ]);
});

test("readPythonInterpreters() keeps to the packages of its own version, and of the user and PYTHONPATH where Python does", async () => {
  using folder = temporaryFolder();
  trap(folder, "opt/bin/python3.12");
  symlinkSync("python3.12", join(folder.path, "opt/bin/python3"));
  for (const place of [`opt/${SITE}`, "opt/lib/python3.11/site-packages", `home/.local/${SITE}`, "extra"]) {
    mkdirSync(join(folder.path, place), { recursive: true });
  }
  const variables = { HOME: join(folder.path, "home"), PYTHONPATH: `${folder.path}/extra:relative` };
  const sitesOf = async (named: string) => (await look(folder, variables, named))[0]?.sites;
  assert.deepEqual(await sitesOf("opt/bin/python3"), [
    join(folder.path, "extra"),
    join(folder.path, `home/.local/${SITE}`),
    join(folder.path, `opt/${SITE}`),
  ]);
  const alone = venv(folder, "alone");
  assert.deepEqual(await sitesOf(alone), [join(folder.path, "extra"), join(alone, SITE)]);
  const open = venv(
    folder,
    "open",
    `home = ${folder.path}/opt/bin\ninclude-system-site-packages = true\nversion_info = 3.12.4.final.0\n`,
  );
  assert.deepEqual(await sitesOf(open), [
    join(folder.path, "extra"),
    join(open, SITE),
    join(folder.path, `home/.local/${SITE}`),
    join(folder.path, `opt/${SITE}`),
  ]);
});

test("readPythonInterpreters() follows pyenv's scripts to the version that is chosen", async () => {
  using folder = temporaryFolder();
  trap(folder, "pyenv/shims/python3");
  trap(folder, "pyenv/versions/3.12.4/bin/python3");
  mkdirSync(join(folder.path, "pyenv/versions/3.12.4", SITE), { recursive: true });
  folder.write("pyenv/version", "3.12.4\n");
  const variables = { PATH: `${folder.path}/pyenv/shims` };
  const target = join(folder.path, "pyenv/versions/3.12.4/bin/python3");
  assert.deepEqual(targetsOf(await look(folder, variables)), [[target, "python3 on the PATH", []]]);
  const outside = await look(folder, { ...variables, PYENV_VERSION: "../../../etc" });
  assert.deepEqual(targetsOf(outside), [
    [join(folder.path, "pyenv/shims/python3"), "python3 on the PATH", "not-reported"],
  ]);
});

test("readPythonInterpreters() says of what is no interpreter that nothing tells", async () => {
  using folder = temporaryFolder();
  const [missing] = await look(folder, {}, "nothing/here");
  const path = join(folder.path, "nothing/here");
  assert.deepEqual(missing, {
    path,
    origin: "--python",
    sites: [],
    builds: absent("not-reported", `${path} is no interpreter, or nothing tells where its packages are`),
  });
  assert.deepEqual(await look(folder, {}), []);
});

test("readPythonInterpreters() is neither held up nor fooled by hostile packages", async () => {
  using folder = temporaryFolder();
  const home = venv(folder, "env");
  const site = join(home, SITE);
  mkdirSync(join(site, "torch"));
  execFileSync("mkfifo", [join(site, "torch/version.py")]);
  mkdirSync(join(site, "tensorflow/python/platform"), { recursive: true });
  symlinkSync("/dev/zero", join(site, "tensorflow/python/platform/build_info.py"));
  for (const name of ["jax-\x1b[2J.dist-info", "cupy_cuda12x-1.0\n.dist-info", "jax-1.0.dist-info.x"]) {
    mkdirSync(join(site, name));
  }
  const [found] = await look(folder, {}, home);
  const reason = absent("failed", "it is no regular file");
  assert.deepEqual(
    found?.builds,
    known([
      {
        framework: "torch",
        distribution: "torch",
        version: reason,
        target: reason,
        toldBy: `${site}/torch/version.py`,
        architectures: absent("not-reported", "its files do not name the architectures"),
        conflicts: [],
      },
      {
        framework: "tensorflow",
        distribution: "tensorflow",
        version: absent("not-reported", "it has no metadata"),
        target: reason,
        toldBy: `${site}/tensorflow/python/platform/build_info.py`,
        architectures: reason,
        conflicts: [],
      },
    ]),
  );
});

test("readPythonInterpreters() believes no file of any size, and no environment that leads to itself", async () => {
  using folder = temporaryFolder();
  const home = venv(
    folder,
    "env",
    `home = ${folder.path}/env/bin\ninclude-system-site-packages = true\nversion = 3.12\n`,
  );
  folder.write(`env/${SITE}/torch/version.py`, `cuda = '12.4'\n${"#".repeat(2 * 1024 ** 2)}`);
  const [found] = await look(folder, {}, home);
  assert.deepEqual(targetsOf(found === undefined ? [] : [found]), [[join(home, "bin/python"), "--python", [[
    "torch",
    "failed",
  ]]]]);
  assert.deepEqual(found?.sites, [join(home, SITE)]);
  symlinkSync("loop", join(folder.path, "loop"));
  assert.deepEqual((await look(folder, {}, "loop"))[0]?.sites, []);
});
