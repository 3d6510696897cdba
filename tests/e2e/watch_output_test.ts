// deno-lint-ignore-file no-control-regex -- what a terminal gets is looked at here
/** Where a watch goes, how it is ended, and what it does when it cannot write. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gpuctlCommand, withRuntime } from "../support/binary.ts";
import { runProgram, startProgram } from "../support/running_program.ts";
import { startSim } from "../support/sim.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { startOnTerminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { linesOf, QUICK_WATCH, untilTold } from "../support/watching.ts";

const ON_JOURNAL =
  'exec 2>>"$1"; export JOURNAL_STREAM="$(stat -L -c %d:%i /proc/self/fd/2)"; shift; exec "$@"';
/** Starts what tries to drive a terminal, to end a line and to run in a shell. */
const HOSTILE = "\x1b[2J'; touch owned; $(touch owned)\n<0>fake";

test("watch ends with 0 and whole lines at SIGINT, SIGTERM and SIGHUP", async () => {
  await using server = await startSim({ gpus: 1 });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    await using watch = server.start(QUICK_WATCH);
    await watch.untilOutput(/"event":"sample".*\n/);
    watch.send(signal);
    const { status, stdout, stderr } = await watch.ended;
    assert.deepEqual([status, stderr, stdout.endsWith("}\n")], [0, "", true], signal);
    linesOf(stdout);
  }
});

test("watch ends at once at a signal while the driver hangs: with 3, as that has never answered", async () => {
  await using server = await startSim({ gpus: 1, faults: "hang = true\n" });
  await using watch = server.start([...QUICK_WATCH, "--deadline", "10m"]);
  await until("the signal to be caught", () => {
    const [, caught = "0"] =
      /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${watch.pid}/status`, "utf8")) ?? [];
    return (BigInt(`0x${caught}`) >> BigInt(constants.signals.SIGTERM - 1) & 1n) === 1n;
  });
  watch.send("SIGTERM");
  const { status, stdout, stderr } = await watch.ended;
  assert.deepEqual({ status, stdout, stderr }, { status: 3, stdout: "", stderr: "" });
});

test("watch leaves a signal alone that was ignored when it was started", async () => {
  await using server = await startSim({ gpus: 1 });
  const command = [...gpuctlCommand(), ...QUICK_WATCH];
  await using watch = startProgram(
    ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", ...command],
    withRuntime({ env: server.env }),
  );
  await watch.untilOutput(/"event":"sample".*\n/);
  watch.send("SIGHUP");
  const seen = watch.stdout.length;
  await until("more lines", () => watch.stdout.length > seen + 2000);
  watch.send("SIGTERM");
  assert.equal((await watch.ended).status, 0);
});

test("watch ends quietly when nobody reads any more", async () => {
  await using server = await startSim({ gpus: 1 });
  const line = `${gpuctlCommand().join(" ")} ${QUICK_WATCH.join(" ")} | head -2; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await runProgram(["bash", "-c", line], withRuntime({ env: server.env }));
  assert.deepEqual([stdout.split("\n").length, stdout.endsWith("\n0\n"), stderr], [4, true, ""]);
});

test("watch ends with 3 when its output cannot be written", async () => {
  await using server = await startSim({ gpus: 1 });
  const line = `${gpuctlCommand().join(" ")} ${QUICK_WATCH.join(" ")} >/dev/full; echo $?`;
  const { stdout, stderr } = await runProgram(["sh", "-c", line], withRuntime({ env: server.env }));
  assert.deepEqual([stdout, stderr], [
    "3\n",
    "gpuctl: Cannot write to standard output: no space is left on the device\n",
  ]);
});

test("watch keeps metrics in a file that everybody may read, never half of one", async () => {
  await using server = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const file = join(folder.path, "gpuctl.prom");
  await using watch = server.start([...QUICK_WATCH, "--ghost-for", "0s", "--prometheus", file]);
  const text = () => existsSync(file) ? readFileSync(file, "utf8") : "";
  await until("metrics", () => /^gpuctl_watch_alerts\{kind="ghost"\} 0$/m.test(text()));
  await server.hold({ scene: "forked-child" });
  await untilTold(watch, "alert", "ghost");
  await until("the alert among the metrics", () => {
    const now = text();
    assert.match(now, /^# SIMULATED[^]*^gpuctl_watch_alerts\{kind="busy-without-process"\} \d\n$/m);
    return /^gpuctl_watch_alerts\{kind="ghost"\} 1$/m.test(now);
  });
  assert.equal(statSync(file).mode & 0o777, 0o644);
});

test("watch goes on when its metrics have no room, and says so once", async () => {
  await using server = await startSim({ gpus: 1 });
  const { status, stdout, stderr } = await server.run([
    ...[...QUICK_WATCH, "--prometheus", "/dev/full", "--count", "5"],
  ]);
  assert.deepEqual([status, linesOf(stdout).length], [0, 5]);
  assert.equal(
    stderr,
    "gpuctl: The metrics of --prometheus are not up to date: the call failed (Cannot write /dev/full: no space is left on the device)\n",
  );
  const nowhere = await server.run([...QUICK_WATCH, "--prometheus", join(server.folder, "none/x.prom")]);
  assert.deepEqual([nowhere.status, nowhere.stdout], [3, ""]);
});

test("watch gives the command of --on-alert its facts, whatever a process calls itself, and waits for it", async () => {
  await using server = await startSim({ gpus: 1 });
  using folder = temporaryFolder();
  const words = ["sim", "hold", "--grow", "1GiB/s", "--for", "60s"];
  const script = 'exec -a "$0" "$@"';
  await using job = startProgram(
    ["bash", "-c", script, HOSTILE, ...gpuctlCommand(), ...words],
    withRuntime({ env: server.env }),
  );
  await job.untilOutput(/^ready/m);
  const hook =
    'sleep 0.3; printf "%s\\n" "$GPUCTL_ALERT_KIND $GPUCTL_ALERT_GPU" "$GPUCTL_ALERT_MESSAGE" >facts';
  const { status } = await server.run([
    ...[...QUICK_WATCH, "--growth", "100MiB/s", "--growth-window", "1500ms", "--warm-up", "0s"],
    ...["--until-alert", "--on-alert", hook],
  ], { cwd: folder.path });
  const [head, message = ""] = readFileSync(join(folder.path, "facts"), "utf8").split("\n");
  assert.deepEqual([status, head], [10, "growth 0"]);
  assert.match(message, /^PID \d+ \('\\u\{1b\}\[2J'\\''; touch owned; .*\) takes .* more an hour on GPU 0$/);
  assert.equal(existsSync(join(folder.path, "owned")), false);
});

test("watch tells of a command of --on-alert that fails, and takes none from a settings file", async () => {
  await using server = await startSim({ gpus: 1, faults: "[gpu.0]\nlost = true\n" });
  await using watch = server.start([...QUICK_WATCH, "--on-alert", "echo no such pager >&2; exit 7"]);
  await until("the failure to be told", () => watch.stderr !== "");
  assert.equal(
    watch.stderr,
    "gpuctl: The command of --on-alert does not do its work: the call failed (it ended with status 7: no such pager)\n",
  );
  using folder = temporaryFolder();
  const config = folder.write("config.toml", '[watch]\non-alert = "touch owned"\n');
  const { status, stderr } = await server.run([...QUICK_WATCH, "--config", config]);
  assert.deepEqual([status, stderr], [
    2,
    `gpuctl: Cannot use ${config}:2:1: "on-alert" counts only on the command line\n`,
  ]);
});

test("watch tells of a command of --on-alert that fails at its end, after which there is no look", async () => {
  await using server = await startSim({ gpus: 1, faults: "[gpu.0]\nlost = true\n" });
  const { status, stderr } = await server.run([...QUICK_WATCH, "--until-alert", "--on-alert", "exit 7"]);
  assert.deepEqual([status, stderr], [
    10,
    "gpuctl: The command of --on-alert does not do its work: the call failed (it ended with status 7)\n",
  ]);
});

test("watch reads no kernel log where that is turned off on the line, by a variable or in a file", async () => {
  await using server = await startSim({ gpus: 1, faults: 'kernel-log = "denied"\n' });
  using folder = temporaryFolder();
  const off = folder.write("off.toml", "[watch]\nno-xid = true\n");
  const on = folder.write("on.toml", "[watch]\nno-xid = false\n");
  const watch = ["watch", "--json", "--count", "1"];
  const remark = "gpuctl: The driver's errors (Xid) in the kernel's log cannot be seen: " +
    "no permission (the kernel's log is for root alone)\n";
  const runs = [
    server.run(watch),
    server.run([...watch, "--config", on]),
    server.run([...watch, "--no-xid"]),
    server.run([...watch, "--config", off]),
    server.run(watch, { env: { GPUCTL_NO_XID: "1" } }),
  ];
  const said = (await Promise.all(runs)).map(({ stderr }) => stderr);
  assert.deepEqual(said, [remark, remark, "", "", ""]);
});

test("watch writes a line for each alert into the journal, and nothing else", async () => {
  await using server = await startSim({ gpus: 1, faults: "[gpu.0]\nlost = true\n" });
  using folder = temporaryFolder();
  const journal = folder.write("journal", "");
  const watch = ["watch", "--no-xid", "--interval", "50ms", "--count", "5"];
  const { status, stdout } = await runProgram(
    ["/bin/sh", "-c", ON_JOURNAL, "sh", journal, ...gpuctlCommand(), ...watch],
    withRuntime({ env: server.env }),
  );
  assert.deepEqual([status, stdout], [0, ""]);
  assert.match(
    readFileSync(journal, "utf8"),
    /^<3>GPU 0 cannot be asked: the GPU has fallen off the bus \(GPU is lost\), since .* UTC\. Next: gpuctl reset-gpu --source sim:\S+ 0 .*\n$/,
  );
});

test("watch draws in place on a terminal, lets nobody else drive it, and leaves it as it was at Ctrl-C", async () => {
  await using server = await startSim({ gpus: 1 });
  await using job = startProgram(
    ["bash", "-c", 'exec -a "$0" "$@"', HOSTILE, ...gpuctlCommand(), "sim", "hold", "--for", "60s"],
    withRuntime({ env: server.env }),
  );
  await job.untilOutput(/^ready/m);
  await using watch = startOnTerminal(
    [...gpuctlCommand(), "watch", "--no-xid", "--interval", "100ms"],
    withRuntime({ env: server.env, columns: 60, rows: 12 }),
  );
  await watch.untilOutput(/(?:\x1b\[11A[^]*){2}/);
  watch.type("\x03");
  const { stdout, status } = await watch.ended;
  assert.equal(status, 0);
  assert.match(stdout, /^\x1b\[\?7l\rwatching for /);
  assert.match(stdout, /\.\.\. \d+ more lines: make the window taller/);
  // Ours alone: no wrap and wrap again, up, erase, bold and colours, and what the terminal echoes of Ctrl-C.
  const rest = stdout.replaceAll(/\x1b\[(?:\?7[lh]|11A|K|J|0m|1m|31m|33m)/g, "");
  assert.doesNotMatch(rest, /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/);
  assert.equal(stdout.lastIndexOf("\x1b[?7h") > stdout.lastIndexOf("\x1b[?7l"), true);
});
