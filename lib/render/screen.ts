/** What a screen means for a text: how wide, and whether in colour. */
import { COLOUR, PLAIN } from "./colour.ts";
import type { TableOptions } from "./table.ts";

/** Without a screen nothing is cut, wrapped or coloured. */
export function optionsFor(
  screen: { readonly columns: number; readonly hasColour: boolean } | undefined,
): TableOptions {
  return { width: screen?.columns, paint: screen?.hasColour ? COLOUR : PLAIN };
}
