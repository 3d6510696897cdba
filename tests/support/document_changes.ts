/** What can go wrong with a document, one thing at a time. */

const ALIEN = { alien: true };
/** What lists values by UUID: its keys are no names of ours. */
const BY_UUID = /^\/processes\/\d+\/peakBytes$/;

/** A document with one thing changed, and what that is. */
export type Change = readonly [what: string, changed: unknown];

/** Every way to leave out one key, or to put something else in the place of one value. */
export function* damage(value: unknown, place = ""): Generator<Change> {
  yield [`${place} is something else`, ALIEN];
  for (const [key, child, put] of childrenOf(value)) {
    for (const [what, changed] of damage(child, `${place}/${key}`)) yield [what, put(changed)];
    if (Array.isArray(value) || BY_UUID.test(place)) continue;
    yield [
      `${place}/${key} is missing`,
      Object.fromEntries(entriesOf(value).filter(([name]) => name !== key)),
    ];
  }
}

/** Every way to add a key that is not known. */
export function* addition(value: unknown, place = ""): Generator<Change> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isObject && !BY_UUID.test(place)) yield [`${place}/alien is new`, { ...value, ...ALIEN }];
  for (const [key, child, put] of childrenOf(value)) {
    for (const [what, changed] of addition(child, `${place}/${key}`)) yield [what, put(changed)];
  }
}

/** What is in a list or an object, each with how to put another value in its place. */
function* childrenOf(value: unknown): Generator<readonly [string, unknown, (changed: unknown) => unknown]> {
  for (const [key, child] of entriesOf(value)) {
    yield [key, child, (changed) => {
      return Array.isArray(value) ? value.with(Number(key), changed) : { ...Object(value), [key]: changed };
    }];
  }
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}
