import assert from "node:assert/strict";
import { test } from "node:test";
import { systemdCommand } from "../../../commands/systemd.ts";
import { type Ending, GpuctlError } from "../../../lib/core/errors.ts";
import type { Systemd } from "../../../lib/world/ports.ts";
import { type FakeSystemd, fakeSystemd } from "../../support/fake_systemd.ts";
import { assertGolden } from "../../support/golden.ts";

interface Machine {
  readonly systemd?: FakeSystemd;
  readonly self?: readonly string[];
  readonly openSystemd?: () => Promise<Systemd>;
}

async function run(words: readonly string[], { systemd = fakeSystemd(), ...machine }: Machine = {}) {
  const ended: Ending[] = [];
  let out = "";
  const world = {
    terminal: { out: (text: string) => void (out += text) },
    self: ["/usr/bin/gpuctl"],
    openSystemd: () => Promise.resolve(systemd),
    ...machine,
  };
  const command = systemdCommand(world, (ending) => ended.push(ending));
  for (const each of [command, ...command.commands]) {
    each.exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} });
  }
  await command.parseAsync([...words], { from: "user" });
  return { out, ended, systemd };
}

/** The settings of a unit that `print` shows, by their names. */
async function printed(...words: readonly string[]): Promise<(name: string) => readonly string[]> {
  const { out } = await run(["print", ...words]);
  return (name) => out.split("\n").filter((line) => line.startsWith(`${name}=`));
}

function usage(message: string, hint?: string) {
  return { name: "GpuctlError", failure: "usage", message, hint };
}

test("systemd print prints the units that are shipped, each under its path", async () => {
  const { out, ended } = await run(["print"]);
  const units = out.split(/^# \/etc\/systemd\/system\/(.*)\n/m);
  assert.deepEqual([units[0], units[1], units[3], units.length], [
    "",
    "gpuctl-clean.service",
    "gpuctl-clean.timer",
    5,
  ]);
  assertGolden("../../deploy/systemd/gpuctl-clean.service", (units[2] ?? "").replace(/\n$/, ""));
  assertGolden("../../deploy/systemd/gpuctl-clean.timer", units[4] ?? "");
  assert.deepEqual(ended, ["ok"]);
});

test("systemd print puts the options after -- into the command line and opens what they name", async () => {
  const of = await printed(
    ...[
      "--every",
      "90s",
      "--program",
      "/opt/gpu/gpuctl",
      "--",
      "--protect",
      "jupyter lab",
      "--min-age",
      "1h",
    ],
    ...[
      "--source",
      "sim:/tmp/server/",
      "--audit-log",
      "/data/gpu/acts.jsonl",
      "--config",
      "/root/gpuctl.toml",
    ],
  );
  assert.deepEqual(["ExecStart", "ConditionPathExists", "BindPaths", "BindReadOnlyPaths"].map(of), [
    [
      'ExecStart=/opt/gpu/gpuctl clean-zombies --yes --protect "jupyter lab" --min-age 1h --source sim:/tmp/server/ ' +
      "--audit-log /data/gpu/acts.jsonl --config /root/gpuctl.toml",
    ],
    [],
    ["BindPaths=/tmp/server/", "BindPaths=/data/gpu"],
    ["BindReadOnlyPaths=-/home/kubernetes/bin/nvidia", "BindReadOnlyPaths=/root/gpuctl.toml"],
  ]);
  assert.deepEqual(of("OnUnitActiveSec"), ["OnUnitActiveSec=90s"]);
});

test("systemd print lets a run take as long as its options allow it to", async () => {
  const of = await printed("--", "--grace", "2m", "--settle", "1m");
  assert.deepEqual(of("TimeoutStartSec"), ["TimeoutStartSec=17min"]);
});

test("systemd refuses options that the timer would fail on", async () => {
  const wrong: readonly (readonly [readonly string[], ReturnType<typeof usage>])[] = [
    [
      ["--min-agee", "5m"],
      usage(
        "Cannot clean regularly with these options: unknown option '--min-agee'",
        "Did you mean --min-age?",
      ),
    ],
    [
      ["--min-age", "5"],
      usage(
        "Cannot clean regularly with these options: option '--min-age <time>' argument '5' is invalid. Cannot parse " +
          '"5" as a duration: expected a number with ms, s, m, h or d, such as 10s',
        "gpuctl clean-zombies --help lists the options",
      ),
    ],
    [
      ["--help"],
      usage(
        "Cannot clean regularly with these options: --help cleans nothing",
        "gpuctl clean-zombies --help lists the options",
      ),
    ],
    [["--json"], usage("Cannot clean regularly with --json: the journal has a line for each act")],
    [
      ["-o", "/var/log/gpuctl/report"],
      usage("Cannot clean regularly with --output: the journal has what was done"),
    ],
    [["--source", "saved.json"], usage("Cannot clean regularly from saved.json: a file is no live machine")],
    [
      ["--source", "sim:server"],
      usage(
        'Cannot use --source "server" in a unit: it must be an absolute path without control characters',
      ),
    ],
    [
      ["--audit-log", "/var/log/a\nb"],
      usage(
        'Cannot use --audit-log "/var/log/a\\nb" in a unit: it must be an absolute path without control characters',
      ),
    ],
  ];
  for (const [words, expected] of wrong) await assert.rejects(run(["print", "--", ...words]), expected);
});

test("systemd refuses an interval that is shorter than a run", async () => {
  await assert.rejects(run(["print", "--every", "5s"]), {
    code: "commander.invalidArgument",
    message: "error: option '--every <time>' argument '5s' is invalid. Cannot clean every 5s: the shortest " +
      "interval is 10s",
  });
});

test("systemd needs a program's path where gpuctl runs from its sources", async () => {
  const self = ["/usr/bin/deno", "run", "mod.ts"];
  await assert.rejects(
    run(["install"], { self }),
    usage(
      "Cannot name this program in a unit: it runs from its sources",
      "--program names an installed one, such as /usr/bin/gpuctl",
    ),
  );
  assert.deepEqual((await run(["print", "--program", "/usr/bin/gpuctl"], { self })).ended, ["ok"]);
});

test("systemd install says what it wrote and how to start it", async () => {
  const { out, ended, systemd } = await run(["install"]);
  assert.equal(
    out,
    "Wrote /etc/systemd/system/gpuctl-clean.service.\nWrote /etc/systemd/system/gpuctl-clean.timer.\n" +
      "Nothing runs yet. To start it now and at every boot: systemctl enable --now gpuctl-clean.timer\n",
  );
  assert.deepEqual(ended, ["ok"]);
  assert.deepEqual([...systemd.units.keys()], ["gpuctl-clean.service", "gpuctl-clean.timer"]);
});

test("systemd install --now says how often it runs; done again it says that all is up to date", async () => {
  const { out, systemd } = await run(["install", "--now", "--every", "30m"]);
  assert.match(out, /\ngpuctl-clean\.timer is at work: gpuctl cleans up every 30 min\.\n$/);
  assert.equal(
    (await run(["install", "--every", "30m"], { systemd })).out,
    "/etc/systemd/system/gpuctl-clean.service is up to date.\n" +
      "/etc/systemd/system/gpuctl-clean.timer is up to date.\n" +
      "gpuctl-clean.timer is at work: gpuctl cleans up every 30 min.\n",
  );
});

test("systemd install passes on why this user or this machine cannot", async () => {
  const denied = new GpuctlError("denied", "Cannot change the units of systemd: only root may");
  const openSystemd = () => Promise.reject(denied);
  await assert.rejects(run(["install"], { openSystemd }), denied);
  await assert.rejects(run(["remove"], { openSystemd }), denied);
});

test("systemd remove says what is gone, or that there was nothing", async () => {
  const { systemd } = await run(["install", "--now"]);
  assert.deepEqual(
    (await run(["remove"], { systemd })).out,
    "Removed /etc/systemd/system/gpuctl-clean.timer.\nRemoved /etc/systemd/system/gpuctl-clean.service.\n",
  );
  const again = await run(["remove"], { systemd });
  assert.deepEqual([again.out, again.ended], ["Nothing to remove: no unit of gpuctl's is installed.\n", [
    "ok",
  ]]);
});
