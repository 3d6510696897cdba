/** The service and the timer under a real systemd: what they end, what they leave, what they say and what they record. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { AuditJson } from "../../lib/model/schema/audit.ts";
import { formatUnitArgument, formatUnitPath, formatUnitProgram } from "../../lib/render/unit_syntax.ts";
import { bootDebian, type BootedMachine, type DebianTree, makeDebian } from "../support/booted_debian.ts";
import { parseDocumentLines } from "../support/documents.ts";
import type { RunningProgram } from "../support/running_program.ts";
import { until } from "../support/until.ts";

/** Somebody who is not root: ending and reading their processes takes the capabilities that the unit has. */
const AS_ALICE = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"] as const;
const SERVER = "/srv/gpu server";
const AUDIT_LOG = "/var/log/gpuctl/audit.jsonl";
/** For a test: nothing has to be old, and nobody takes long to think twice. */
const AT_ONCE = [
  "--source",
  `sim:${SERVER}`,
  "--audit-log",
  AUDIT_LOG,
  "--min-age",
  "0s",
  "--confirm",
  "200ms",
];
const TIMER_LIMIT = { within: 60_000 };

let debian: DebianTree;
before(async () => {
  debian = await makeDebian();
});
after(() => debian[Symbol.dispose]());

/** Boots a machine with a simulated GPU server. */
async function bootServer(): Promise<BootedMachine> {
  const machine = await bootDebian(debian);
  await machine.ask(["gpuctl", "sim", "init", SERVER, "--gpus", "2", "--memory", "80GiB"]);
  return machine;
}

/** Starts a job of alice's and gives the pid that holds its memory, as the machine numbers it. */
async function startJob(machine: BootedMachine, gpu: number, scene: string) {
  const words = ["--gpu", String(gpu), "--bytes", "2GiB", "--scene", scene, "--for", "10m"];
  const program = machine.start([...AS_ALICE, "gpuctl", "sim", "hold", "--sim", SERVER, ...words]);
  const [, ready] = await program.untilOutput(/^ready (\d+)$/m);
  return Object.assign(program, { ready: Number(ready) }) satisfies RunningProgram;
}

async function isAlive(machine: BootedMachine, pid: number): Promise<boolean> {
  return (await machine.run(["test", "-e", `/proc/${pid}`])).status === 0;
}

/** What gpuctl itself wrote to the journal, oldest first, without the pids. */
async function journal(machine: BootedMachine) {
  const text = await machine.ask(
    ["journalctl", "--unit=gpuctl-clean.service", "--output=json", "--no-pager", "_TRANSPORT=stdout"],
  );
  return text.split("\n").filter((line) => line !== "").map((line) => {
    const { PRIORITY, MESSAGE, SYSLOG_IDENTIFIER } = JSON.parse(line);
    return {
      priority: PRIORITY,
      from: SYSLOG_IDENTIFIER,
      message: String(MESSAGE).replace(/ in \d+ ms$/, ""),
    };
  });
}

async function show(machine: BootedMachine, ...names: readonly string[]): Promise<string> {
  const shown = await machine.ask([
    "systemctl",
    "show",
    `--property=${names.join(",")}`,
    "gpuctl-clean.service",
  ]);
  return shown.trim().split("\n").sort().join(" ");
}

/** Waits until a run has ended that began after this call, or that was under way. */
async function nextRun(machine: BootedMachine): Promise<void> {
  const before = await show(machine, "ExecMainExitTimestampMonotonic");
  await until("the timer to fire and the run to end", async () => {
    const now = await show(machine, "ExecMainExitTimestampMonotonic", "ActiveState");
    return !now.includes(before) && now.includes("ActiveState=inactive");
  }, TIMER_LIMIT);
}

test("the timer ends what was left behind, leaves the rest alone, and says so once", async () => {
  await using machine = await bootServer();
  await using job = await startJob(machine, 0, "plain");
  await using leaked = await startJob(machine, 1, "forked-child");
  const installed = await machine.ask(
    ["gpuctl", "systemd", "install", "--now", "--every", "10s", "--", ...AT_ONCE],
  );
  assert.equal(
    installed,
    "Wrote /etc/systemd/system/gpuctl-clean.service.\nWrote /etc/systemd/system/gpuctl-clean.timer.\n" +
      "gpuctl-clean.timer is at work: gpuctl cleans up every 10 s.\n",
  );
  await until("the leftover to be ended", async () => !await isAlive(machine, leaked.ready), TIMER_LIMIT);
  assert.equal(await isAlive(machine, job.ready), true);
  await until("the run to be over", async () => (await journal(machine)).length > 0);
  const said = [{
    priority: "5",
    from: "gpuctl",
    message:
      `inherited PID ${leaked.ready} (/usr/local/bin/gpuctl sim worker -- forked) ended: 2.5 GiB came back`,
  }];
  assert.deepEqual(await journal(machine), said);

  const records = parseDocumentLines<AuditJson>(readFileSync(join(machine.root, AUDIT_LOG), "utf8"));
  assert.deepEqual(
    records.map(({ schema, event, simulated, act }) => {
      return [schema, event, simulated, act?.pid, act?.class, act?.signal, act?.outcome, act?.bytesAfter];
    }),
    [
      ["gpuctl.audit/1", "intent", true, leaked.ready, "inherited", null, "planned", null],
      ["gpuctl.audit/1", "outcome", true, leaked.ready, "inherited", "SIGTERM", "ended", 0],
    ],
  );

  await nextRun(machine);
  assert.deepEqual(await journal(machine), said);
  assert.equal(await isAlive(machine, job.ready), true);
  assert.equal(await show(machine, "Result", "ExecMainStatus"), "ExecMainStatus=0 Result=success");
  // The folder of the lock stays: without it a run by hand and the timer's next one would not see each other.
  await machine.ask(["test", "-d", "/run/gpuctl"]);
});

test("a run that may not end what it finds warns and succeeds; one that cannot look fails with an error", async () => {
  await using machine = await bootServer();
  await using leaked = await startJob(machine, 0, "forked-child");
  // systemd forgets how a service ended unless something refers to it, as a timer does.
  const timer = ["gpuctl", "systemd", "install", "--now", "--every", "1h"] as const;
  await machine.ask([...timer, "--", ...AT_ONCE, "--protect", "sim worker"]);
  await machine.ask(["systemctl", "start", "gpuctl-clean.service"]);
  assert.equal(await show(machine, "Result", "ExecMainStatus"), "ExecMainStatus=10 Result=success");
  assert.equal(await isAlive(machine, leaked.ready), true);

  await machine.ask(["mv", SERVER, "/srv/elsewhere"]);
  await machine.ask(["mkdir", SERVER]);
  assert.notEqual((await machine.run(["systemctl", "start", "gpuctl-clean.service"])).status, 0);
  assert.equal(await show(machine, "Result", "ExecMainStatus"), "ExecMainStatus=3 Result=exit-code");
  const [warning, ...errors] = await journal(machine);
  assert.match(
    warning?.message ?? "",
    /^memory of PID \d+, which is dead, is held and nothing may be ended for it$/,
  );
  assert.deepEqual([warning?.priority, ...errors.map(({ priority, message }) => [priority, message])], [
    "4",
    ["3", `gpuctl: Cannot find a simulated server in ${SERVER}: it has no server.json`],
    ["3", `  hint: gpuctl sim init ${SERVER} makes one`],
  ]);
});

test("a driver that is not there is no failure, and the timer goes on", async () => {
  await using machine = await bootDebian(debian);
  await machine.ask(["gpuctl", "systemd", "install", "--now", "--every", "10s"]);
  const lastTrigger = () =>
    machine.ask(["systemctl", "show", "--property=LastTriggerUSec", "gpuctl-clean.timer"]);
  await until("the timer to fire", async () => await lastTrigger() !== "LastTriggerUSec=\n", TIMER_LIMIT);
  const first = await lastTrigger();
  await until("the timer to fire again", async () => await lastTrigger() !== first, TIMER_LIMIT);
  assert.equal(
    await show(machine, "ConditionResult", "ExecMainStartTimestampMonotonic", "Result"),
    "ConditionResult=no ExecMainStartTimestampMonotonic=0 Result=success",
  );
});

test("remove leaves no unit, no timer and no failed state, and keeps the record", async () => {
  await using machine = await bootServer();
  await machine.ask(["gpuctl", "systemd", "install", "--now", "--every", "10s", "--", ...AT_ONCE]);
  await machine.ask(["mkdir", "--parents", "/var/log/gpuctl"]);
  writeFileSync(join(machine.root, AUDIT_LOG), "{}\n");
  await machine.ask(["gpuctl", "systemd", "remove"]);
  assert.equal(await machine.ask(["systemctl", "list-units", "--all", "--no-legend", "gpuctl*"]), "");
  assert.equal((await machine.run(["systemctl", "list-unit-files", "--no-legend", "gpuctl*"])).stdout, "");
  assert.equal(
    existsSync(join(machine.root, "etc/systemd/system/timers.target.wants/gpuctl-clean.timer")),
    false,
  );
  assert.match(readFileSync(join(machine.root, AUDIT_LOG), "utf8"), /^\{\}$/m);
});

test("systemd reads words and paths as they were written", async () => {
  await using machine = await bootDebian(debian);
  const words = [
    "",
    "a b",
    "'",
    '"',
    "\\",
    "%h",
    "$HOME",
    "${HOME}",
    "$$",
    ";",
    "#",
    "\n\t\u0007",
    "\u202eé🦊",
    "-",
  ];
  const program = "/opt/a b%c/print $f";
  const folder = "/srv/a b:c%d\"e\\f'g";
  await machine.ask(["mkdir", "--parents", "/opt/a b%c", folder]);
  await machine.ask(["cp", "/usr/bin/printf", program]);
  writeFileSync(
    join(machine.root, "etc/systemd/system/print.service"),
    `[Service]
Type=oneshot
ProtectSystem=strict
PrivateTmp=yes
ExecStart=${[formatUnitProgram(program), ...["%s\\0", ...words].map(formatUnitArgument)].join(" ")}
ExecStartPre=/bin/touch ${formatUnitArgument(`${folder}/written`)}
BindPaths=${formatUnitPath(folder)}
StandardOutput=truncate:/root/words
`,
  );
  await machine.ask(["systemctl", "daemon-reload"]);
  await machine.ask(["systemctl", "start", "print.service"]);
  assert.deepEqual(readFileSync(join(machine.root, "root/words"), "utf8").split("\0"), [...words, ""]);
  assert.equal(existsSync(join(machine.root, folder, "written")), true);
});
