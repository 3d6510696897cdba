import assert from "node:assert/strict";
import { test } from "node:test";
import { Alarm } from "../../../lib/action/alarm.ts";
import { milliseconds } from "../../../lib/core/units.ts";

const DAY = 86_400_000;

/** A clock that jumps as soon as it is asked to wait, and remembers for how long it was. */
function jumpingClock() {
  let now = 0;
  const pauses: number[] = [];
  return {
    pauses,
    monotonic: () => milliseconds(now),
    pause(span: number) {
      pauses.push(span);
      now += span;
      return Promise.resolve();
    },
  };
}

const never = new Promise<void>(() => {});

test("Alarm pauses for the whole span when nothing happens", async () => {
  const clock = jumpingClock();
  const alarm = new Alarm(never);
  await alarm.pause(milliseconds(300), clock);

  assert.deepEqual([clock.pauses, alarm.hasRung], [[300], false]);
});

test("Alarm takes a pause that no timer can count in pieces", async () => {
  const clock = jumpingClock();
  await new Alarm(never).pause(milliseconds(2.5 * DAY), clock);

  assert.deepEqual(clock.pauses, [DAY, DAY, DAY / 2]);
});

test("Alarm ends a pause at the event, and lets no later one begin", async () => {
  const event = Promise.withResolvers<void>();
  const alarm = new Alarm(event.promise);
  const endless = { monotonic: () => milliseconds(0), pause: () => never };
  const pause = alarm.pause(milliseconds(1000), endless);
  event.resolve();
  await pause;
  await alarm.pause(milliseconds(1000), endless);

  assert.equal(alarm.hasRung, true);
});

test("Alarm rings for an event that fails as well", async () => {
  const event = Promise.withResolvers<void>();
  const alarm = new Alarm(event.promise);
  event.reject(new Error("whatever"));
  await alarm.pause(milliseconds(1000), { monotonic: () => milliseconds(0), pause: () => never });

  assert.equal(alarm.hasRung, true);
});

test("Alarm waits for a promise until the event, and lets no later one be waited for", async () => {
  const { promise: event, resolve: ring } = Promise.withResolvers<void>();
  const alarm = new Alarm(event);
  assert.equal(await alarm.outwait(Promise.resolve("answer")), "answer");
  await assert.rejects(alarm.outwait(Promise.reject(new Error("no"))), { message: "no" });
  const waiting = alarm.outwait(never);
  ring();
  assert.equal(await waiting, undefined);
  assert.equal(await alarm.outwait(Promise.resolve("too late")), undefined);
});
