/** What deploy/prometheus ships, as systemd's and Prometheus' own checkers see it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { METRICS } from "../../../lib/render/snapshot_prometheus.ts";
import { needsProgram } from "../../support/needs_program.ts";
import { NEEDS_ANALYZE, verifyUnits } from "../../support/systemd_analyze.ts";

const FOLDER = fileURLToPath(new URL("../../../deploy/prometheus/", import.meta.url));
const CLEANING = fileURLToPath(new URL("../../../deploy/systemd/gpuctl-clean.service", import.meta.url));
const NEEDS_PROMTOOL = needsProgram("promtool", "prometheus");

function readShipped(name: string): string {
  return readFileSync(`${FOLDER}${name}`, "utf8");
}

function run(program: string, ...words: readonly string[]) {
  const { stdout, stderr, status, error } = spawnSync(program, words, { encoding: "utf8" });
  if (error) throw error;
  return { status, text: `${stdout}${stderr}` };
}

/** What a service may not do: the settings from one heading to the next. */
function closedPart(unit: string): string {
  return /^# Closed\.\n[^]*?\n\n/m.exec(unit)?.[0] ?? assert.fail("the unit has no such part");
}

test("the units pass systemd-analyze verify", NEEDS_ANALYZE, () => {
  const texts = ["gpuctl-metrics.service", "gpuctl-metrics.timer"].map((name) => [name, readShipped(name)]);
  assert.deepEqual(verifyUnits(Object.fromEntries(texts)), { status: 0, text: "" });
});

test("the service is closed as the one that cleans is, has no right to end anybody, and writes in one folder", () => {
  const unit = readShipped("gpuctl-metrics.service");
  const cleaning = readFileSync(CLEANING, "utf8");
  assert.equal(closedPart(unit), closedPart(cleaning));
  const settings = (name: string, text = unit) => text.match(new RegExp(`^${name}=.*$`, "gm"));
  assert.deepEqual(settings("UnsetEnvironment"), settings("UnsetEnvironment", cleaning));
  assert.deepEqual(settings("CapabilityBoundingSet"), [
    "CapabilityBoundingSet=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH",
  ]);
  assert.deepEqual(settings("ReadWritePaths"), ["ReadWritePaths=/var/lib/prometheus/node-exporter"]);
});

test("promtool takes the alert rules, and each fires when it should and not before", NEEDS_PROMTOOL, () => {
  const check = run("promtool", "check", "rules", `${FOLDER}gpuctl.rules.yml`);
  assert.equal(check.status, 0, check.text);
  const trial = run("promtool", "test", "rules", `${FOLDER}gpuctl.rules.test.yml`);
  assert.equal(trial.status, 0, trial.text);
});

test("every alert rule is tried, and names only metrics and labels that there are", () => {
  const rules = readShipped("gpuctl.rules.yml");
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const tried = new Set(
    [...readShipped("gpuctl.rules.test.yml").matchAll(/alertname: (\w+)/g)].map(([, name]) => name),
  );
  assert.deepEqual([...tried].toSorted(), alerts.toSorted());
  const labels = new Map(METRICS.map((metric) => [metric.name, metric.labels]));
  for (const [, name = "", selector = ""] of rules.matchAll(/\b(gpuctl_\w+)(?:\{(\w+))?/g)) {
    assert.ok(
      labels.has(name) && (selector === "" || labels.get(name)?.includes(selector)),
      `${name}{${selector}}`,
    );
  }
});
