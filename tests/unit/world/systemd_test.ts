import assert from "node:assert/strict";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { GpuctlError } from "../../../lib/core/errors.ts";
import { milliseconds } from "../../../lib/core/units.ts";
import type { Systemd } from "../../../lib/world/ports.ts";
import { openSystemd } from "../../../lib/world/systemd.ts";
import { NEEDS_ROOT } from "../../support/as_nobody.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temporary.ts";

const UNIT = { name: "a.service", text: "[Service]\n" };

/** Opens a systemd whose systemctl is a shell script. */
function open(folder: TemporaryFolder, script = "exit 0", deadline = milliseconds(10_000)): Systemd {
  const systemctl = folder.write("bin/systemctl", `#!/bin/sh\n${script}\n`);
  chmodSync(systemctl, 0o755);
  const units = join(folder.path, "units");
  mkdirSync(units);
  return openSystemd({ booted: folder.path, systemctl: ["/dev/null/none", systemctl], units }, {
    uid: 0,
    deadline,
  });
}

test("openSystemd() is for root alone", () => {
  using folder = temporaryFolder();
  assert.throws(
    () => openSystemd({ booted: folder.path, systemctl: ["/bin/sh"], units: folder.path }, { uid: 1000 }),
    { name: "GpuctlError", failure: "denied", message: "Cannot change the units of systemd: only root may" },
  );
});

test("openSystemd() says what is missing on a machine without systemd", () => {
  using folder = temporaryFolder();
  const messageFor = (places: { readonly booted: string; readonly systemctl: readonly string[] }) => {
    try {
      openSystemd({ ...places, units: folder.path }, { uid: 0 });
    } catch (error) {
      if (error instanceof GpuctlError) return [error.failure, error.message, error.hint];
    }
  };
  const hint = "any scheduler can run: gpuctl clean-zombies --yes --quiet --min-age 5m";
  assert.deepEqual(messageFor({ booted: folder.path, systemctl: ["/dev/null/none"] }), [
    "unavailable",
    "Cannot change the units of systemd: systemctl is not installed",
    hint,
  ]);
  assert.deepEqual(messageFor({ booted: "/dev/null/none", systemctl: ["/bin/sh"] }), [
    "unavailable",
    "Cannot change the units of systemd: systemd does not run this machine",
    hint,
  ]);
});

test("writeUnit() puts a whole unit in place for everybody to read, whatever the umask", () => {
  using folder = temporaryFolder();
  const systemd = open(folder);
  const umask = process.umask(0o077);
  try {
    systemd.writeUnit(UNIT);
  } finally {
    process.umask(umask);
  }
  const path = systemd.unitPath("a.service");
  assert.deepEqual([readFileSync(path, "utf8"), statSync(path).mode & 0o777], [UNIT.text, 0o644]);
  assert.deepEqual(readdirSync(join(folder.path, "units")), ["a.service"]);
});

test("writeUnit() replaces a link and leaves alone what it leads to", () => {
  using folder = temporaryFolder();
  const systemd = open(folder);
  const other = folder.write("other", "mine");
  symlinkSync(other, systemd.unitPath("a.service"));
  systemd.writeUnit(UNIT);
  assert.deepEqual([readFileSync(other, "utf8"), lstatSync(systemd.unitPath("a.service")).isFile()], [
    "mine",
    true,
  ]);
});

test("findUnit() tells a file, a link and nothing apart", () => {
  using folder = temporaryFolder();
  const systemd = open(folder);
  systemd.writeUnit(UNIT);
  symlinkSync("/dev/null", systemd.unitPath("masked.service"));
  assert.deepEqual(["a.service", "masked.service", "none.service"].map((name) => systemd.findUnit(name)), [
    { kind: "file", text: UNIT.text },
    { kind: "link", target: "/dev/null" },
    undefined,
  ]);
});

test("removeUnit() removes a link, not what it leads to, and minds nothing that is gone", () => {
  using folder = temporaryFolder();
  const systemd = open(folder);
  const other = folder.write("other", "mine");
  symlinkSync(other, systemd.unitPath("a.service"));
  systemd.removeUnit("a.service");
  systemd.removeUnit("a.service");
  assert.deepEqual([systemd.findUnit("a.service"), readFileSync(other, "utf8")], [undefined, "mine"]);
});

test("order() gives systemctl the words as they are, in a clean environment, and returns what it prints", async () => {
  using folder = temporaryFolder();
  const systemd = open(folder, `printf '[%s]' "$@"; env | sort | tr '\\n' ' '`);
  assert.equal(
    (await systemd.order(["show", "a b", "$x;"])).replace(/(?:PWD|SHLVL|_|OLDPWD)=\S* /g, ""),
    "[--no-pager][--no-ask-password][show][a b][$x;]LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin SYSTEMD_COLORS=0 ",
  );
});

test("order() fails with systemctl's own words", async () => {
  using folder = temporaryFolder();
  const systemd = open(folder, "echo 'Failed to enable unit: it is masked.' >&2; exit 1");
  await assert.rejects(systemd.order(["enable", "--now", "a.timer"]), {
    name: "GpuctlError",
    failure: "partial",
    message: "Cannot run systemctl enable --now a.timer: Failed to enable unit: it is masked.",
  });
});

test("order() does not wait for a systemctl that gives no answer", async () => {
  using folder = temporaryFolder();
  const systemd = open(folder, "trap '' TERM; exec sleep 30", milliseconds(200));
  await assert.rejects(systemd.order(["daemon-reload"]), {
    name: "GpuctlError",
    failure: "partial",
    message: "Cannot run systemctl daemon-reload: no answer within 200 ms",
  });
});

test("checkProgram() takes a program that only root can replace", NEEDS_ROOT, () => {
  using folder = temporaryFolder();
  open(folder).checkProgram("/bin/sh");
});

test("checkProgram() refuses what somebody else could replace, and what is no program", NEEDS_ROOT, () => {
  using folder = temporaryFolder();
  const { checkProgram } = open(folder);
  const refusal = (path: string, why: string) => ({
    name: "GpuctlError",
    failure: "refused",
    message: `Cannot run ${path} from a unit: ${why}`,
  });
  const program = folder.write("program", "#!/bin/sh\n");
  assert.throws(() => checkProgram(program), refusal(program, "it is no program"));
  chmodSync(program, 0o777);
  assert.throws(() => checkProgram(program), refusal(program, `${program} can be written to by everybody`));
  chmodSync(program, 0o755);
  // The folder for temporary files is everybody's, so whatever lies below it is too.
  assert.throws(() => checkProgram(program), refusal(program, "/tmp can be written to by everybody"));
  const link = join(folder.path, "link");
  symlinkSync(program, link);
  assert.throws(() => checkProgram(link), refusal(link, "/tmp can be written to by everybody"));
  assert.throws(() => checkProgram("/dev/null/none"), { failure: "refused", message: /no directory$/ });
});
