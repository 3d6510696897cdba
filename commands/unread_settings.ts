/** What becomes of a command whose configuration this user cannot read. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { GpuctlError } from "../lib/core/errors.ts";
import type { Terminal } from "../lib/world/ports.ts";
import { MACHINE_CONFIG, type UnreadConfig } from "./settings.ts";

/** With one of these a command ends processes or resets GPUs, which a configuration may narrow. */
const ACTING = ["yes", "killLeftovers"];

/**
 * Goes on without the files, and says so; but not where one may say whom to leave alone.
 *
 * @throws {GpuctlError} if the command is to act
 */
export function goOnWithout(
  unread: readonly UnreadConfig[],
  command: CommandUnknownOpts,
  { err }: Pick<Terminal, "err">,
): void {
  const [first] = unread;
  if (first === undefined) return;
  const { path, failure: { failure, message } } = first;
  if (ACTING.some((name) => command.getOptionValue(name) === true)) {
    throw new GpuctlError(failure, `${message}, and it may say whom to leave alone`, {
      cause: first.failure,
      hint: path === MACHINE_CONFIG
        ? "only who may read this file may end processes or reset GPUs here"
        : "su - and sudo -H set HOME to the user's own; XDG_CONFIG_HOME=/none stands for no settings of a user",
    });
  }
  for (const { failure: { message } } of unread) err(`gpuctl: ${message}; going on without it\n`);
}
