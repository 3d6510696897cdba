import assert from "node:assert/strict";
import { test } from "node:test";
import { type InstallOptions, installUnits, removeUnits } from "../../../lib/action/units.ts";
import { CLEAN_SERVICE, CLEAN_TIMER, type FoundUnit, UNIT_MARK } from "../../../lib/model/unit_file.ts";
import { type FakeOptions, fakeSystemd } from "../../support/fake_systemd.ts";

const UNITS = [
  { name: CLEAN_SERVICE, text: `${UNIT_MARK}\n[Service]\n` },
  { name: CLEAN_TIMER, text: `${UNIT_MARK}\n[Timer]\n` },
];
const FOREIGN: FoundUnit = { kind: "file", text: "[Service]\nExecStart=/usr/local/bin/ours\n" };
const MASK: FoundUnit = { kind: "link", target: "/dev/null" };
const OLD: FoundUnit = { kind: "file", text: `${UNIT_MARK}\n# of an earlier version\n` };
const ASK = `show --property=ActiveState,UnitFileState ${CLEAN_TIMER}`;

async function install(options: Partial<InstallOptions>, fake: FakeOptions = {}) {
  const systemd = fakeSystemd(fake);
  const given = { units: UNITS, program: "/usr/bin/gpuctl", startsNow: false, force: false, ...options };
  const result = await installUnits(given, systemd).catch((error: unknown) => error);
  return { result, log: systemd.log };
}

function refusal(failure: string, message: string) {
  return { name: "GpuctlError", failure, message };
}

function assertError(error: unknown, expected: object): void {
  assert.throws(() => {
    throw error;
  }, expected);
}

test("installUnits() writes both units, has them read, and starts nothing unless told", async () => {
  assert.deepEqual(await install({}), {
    result: {
      units: UNITS.map(({ name }) => ({ path: `/etc/systemd/system/${name}`, isNew: true })),
      timer: { isEnabled: false, isActive: false },
    },
    log: [`write ${CLEAN_SERVICE}`, `write ${CLEAN_TIMER}`, "daemon-reload", ASK],
  });
});

test("installUnits() enables and starts the timer when told, and asks whether it runs", async () => {
  assert.deepEqual(await install({ startsNow: true }, { units: { [CLEAN_SERVICE]: OLD } }), {
    result: {
      units: UNITS.map(({ name }) => ({ path: `/etc/systemd/system/${name}`, isNew: true })),
      timer: { isEnabled: true, isActive: true },
    },
    log: [
      `write ${CLEAN_SERVICE}`,
      `write ${CLEAN_TIMER}`,
      "daemon-reload",
      `enable --now ${CLEAN_TIMER}`,
      ASK,
    ],
  });
});

test("installUnits() does not write what stands there already", async () => {
  const units = Object.fromEntries(UNITS.map(({ name, text }) => [name, { kind: "file", text } as const]));
  assert.deepEqual(await install({}, { units, isActive: true }), {
    result: {
      units: UNITS.map(({ name }) => ({ path: `/etc/systemd/system/${name}`, isNew: false })),
      timer: { isEnabled: true, isActive: true },
    },
    log: ["daemon-reload", ASK],
  });
});

test("installUnits() changes nothing when one of the units is somebody else's", async () => {
  const foreign = await install({}, { units: { [CLEAN_SERVICE]: OLD, [CLEAN_TIMER]: FOREIGN } });
  assertError(
    foreign.result,
    refusal("refused", `Cannot replace /etc/systemd/system/${CLEAN_TIMER}: gpuctl systemd did not write it`),
  );
  const masked = await install({}, { units: { [CLEAN_TIMER]: MASK } });
  assertError(
    masked.result,
    refusal("refused", `Cannot replace /etc/systemd/system/${CLEAN_TIMER}: it is a link to /dev/null`),
  );
  assert.deepEqual([foreign.log, masked.log], [[], []]);
});

test("installUnits() replaces somebody else's units by force", async () => {
  const { log } = await install({ force: true }, {
    units: { [CLEAN_SERVICE]: FOREIGN, [CLEAN_TIMER]: MASK },
  });
  assert.deepEqual(log, [`write ${CLEAN_SERVICE}`, `write ${CLEAN_TIMER}`, "daemon-reload", ASK]);
});

test("installUnits() does not let root run what somebody else could replace, not even by force", async () => {
  const { result, log } = await install({ force: true }, { unsafeProgram: "/usr/bin/gpuctl" });
  assertError(result, refusal("refused", "Cannot run /usr/bin/gpuctl from a unit"));
  assert.deepEqual(log, []);
});

test("installUnits() takes no order for done that systemd only took", async () => {
  assertError(
    (await install({ startsNow: true }, { isDeaf: true })).result,
    refusal("partial", `Cannot start ${CLEAN_TIMER}: systemd was told to, and it does not run`),
  );
  assertError(
    (await install({ startsNow: true }, { refuses: "daemon-reload" })).result,
    refusal("partial", "Cannot run systemctl daemon-reload: access denied"),
  );
});

test("removeUnits() stops the timer before its file goes, and lets systemd forget both", async () => {
  const systemd = fakeSystemd({ units: { [CLEAN_SERVICE]: OLD, [CLEAN_TIMER]: OLD } });
  assert.deepEqual(await removeUnits({ force: false }, systemd), [
    `/etc/systemd/system/${CLEAN_TIMER}`,
    `/etc/systemd/system/${CLEAN_SERVICE}`,
  ]);
  assert.deepEqual(systemd.log, [
    `disable --now ${CLEAN_TIMER}`,
    `remove ${CLEAN_TIMER}`,
    `remove ${CLEAN_SERVICE}`,
    "daemon-reload",
    "reset-failed gpuctl-clean.*",
  ]);
});

test("removeUnits() leaves systemd alone when there is nothing to remove", async () => {
  const systemd = fakeSystemd();
  assert.deepEqual(await removeUnits({ force: false }, systemd), []);
  assert.deepEqual(systemd.log, []);
});

test("removeUnits() removes somebody else's unit by force only", async () => {
  const systemd = fakeSystemd({ units: { [CLEAN_SERVICE]: FOREIGN } });
  await assert.rejects(
    removeUnits({ force: false }, systemd),
    refusal("refused", `Cannot remove /etc/systemd/system/${CLEAN_SERVICE}: gpuctl systemd did not write it`),
  );
  assert.deepEqual(systemd.log, []);
  await removeUnits({ force: true }, systemd);
  assert.deepEqual(systemd.log, [`remove ${CLEAN_SERVICE}`, "daemon-reload", "reset-failed gpuctl-clean.*"]);
});
