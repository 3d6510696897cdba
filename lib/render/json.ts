/** What JSON.stringify leaves as it is though a terminal obeys it or an editor hides it. */
const UNSAFE = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}\p{Co}]/gu;

/** Half a character, of which JSON.stringify makes an escape that other parsers refuse (RFC 8259, 8.2). Whole ones it leaves. */
const HALF = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;

/** Writes a document of ours as JSON to be read by people too: indented, keys in the order given, one line end at the end. */
export function renderJson(value: object): string {
  return `${escapeUnsafe(JSON.stringify(value, undefined, 2))}\n`;
}

/** Writes one record of a stream as JSON on one line. */
export function renderJsonLine(value: object): string {
  return `${escapeUnsafe(JSON.stringify(value))}\n`;
}

/** Outside of texts JSON has no such character, so each is in a text, where an escape means the same. */
function escapeUnsafe(json: string): string {
  const whole = json.includes("\\ud") ? json.replace(HALF, "$1\ufffd") : json;
  return whole.replace(UNSAFE, (character) => {
    let escaped = "";
    for (let place = 0; place < character.length; place++) {
      escaped += `\\u${character.charCodeAt(place).toString(16).padStart(4, "0")}`;
    }
    return escaped;
  });
}
