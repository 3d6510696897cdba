import manifest from "../../deno.json" with { type: "json" };

/** This program's version, as deno.json says it. */
export const VERSION: string = manifest.version;
