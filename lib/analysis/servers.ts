/** Servers that fork their workers before they serve. */
import type { Process } from "../model/process.ts";

/** Their programs. */
export const PRE_FORK_SERVERS = ["gunicorn", "uwsgi", "uvicorn", "hypercorn", "granian", "celery", "celeryd"];

/** `/usr/bin/gunicorn`, `uvicorn`, `gunicorn: worker [app]`, `[celeryd: …`. */
const PRE_FORK = new RegExp(`^(?:.*/|\\[)?(${PRE_FORK_SERVERS.join("|")})(?::|$)`);

/**
 * The pre-fork server that a process shows to be a part of, by its arguments or its title. Its workers outlive a master
 * that was replaced and may still answer requests, so a name is enough to spare one.
 */
export function findPreForkServer({ argv }: Process): string | undefined {
  if (!argv.ok) return undefined;
  return argv.value.slice(0, 3).map((word) => PRE_FORK.exec(word)?.[1]).find((name) => name !== undefined);
}
