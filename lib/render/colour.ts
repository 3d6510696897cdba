/** What a piece of text is to the reader. */
export type Tone = "plain" | "bold" | "red" | "yellow";
/** Shows a tone, or leaves the text alone. Chosen by the caller, never read from the environment. */
export type Paint = (text: string, tone: Tone) => string;

const CODES = { bold: 1, red: 31, yellow: 33 } as const;

/** Leaves every text as it is. */
export const PLAIN: Paint = (text) => text;
/** Colours by the escape codes that every terminal knows (ECMA-48, SGR). */
export const COLOUR: Paint = (text, tone) => tone === "plain" ? text : `\x1b[${CODES[tone]}m${text}\x1b[0m`;
