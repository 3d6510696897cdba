/** Puts texts in the places of a script that are marked `@NAME@`. */
export function fillIn(script: string, parts: Readonly<Record<string, string>>): string {
  return script.replace(/@([A-Z]+)@/g, (place, name: string) => parts[name] ?? place);
}
