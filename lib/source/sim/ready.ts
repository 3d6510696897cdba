/** Says that a scene stands. One fact a line; `ready` comes last, so that whoever waits for it has the rest. */
export function formatReady(holders: readonly number[], dead?: number): string {
  return [
    ...holders.length > 1 ? holders.map((pid) => `holder ${pid}`) : [],
    ...dead === undefined ? [] : [`dead ${dead}`],
    `ready ${holders[0]}`,
  ].join("\n");
}
