/**
 * A machine of a program's own, made of this one: the same processes and files, but no sign of a container, an empty /run,
 * and a systemctl that a test orders. A reset refuses inside a container, and tests often run in one.
 */
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fillIn } from "./fill_in.ts";
import type { TemporaryFolder } from "./temporary.ts";

export interface OwnMachine {
  /** Words to put in front of a command. The command takes their place: it has the pid that was started. */
  readonly prefix: readonly [string, ...string[]];
  /** Orders that change something, as systemctl got them: `stop gdm.service`. */
  orders(): readonly string[];
}

export interface OwnMachineOptions {
  /** Services that run. Without any there is no systemd. */
  readonly services?: readonly string[];
  /** Shell commands of systemctl in front of what it does for an order. */
  readonly before?: Readonly<Record<string, string>>;
}

/** Prepares one. It needs root. */
export function ownMachine(
  folder: TemporaryFolder,
  { services = [], before = {} }: OwnMachineOptions = {},
): OwnMachine {
  const systemctl = folder.write(
    "systemctl",
    fillIn(SYSTEMCTL, {
      DIR: folder.path,
      SERVICES: services.join(" "),
      ORDERS: Object.entries(before).map(([words, shell]) => `"${words}") ${shell};;`).join("\n"),
    }),
  );
  chmodSync(systemctl, 0o755);
  const root = folder.write("root.sh", ROOT);
  return {
    prefix: ["unshare", "--mount", "sh", root, services.length > 0 ? systemctl : ""],
    orders() {
      const log = join(folder.path, "systemctl.log");
      return existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : [];
    },
  };
}

/** What systemctl is asked to show, and what it is told to do. */
const SYSTEMCTL = `#!/bin/sh
DIR='@DIR@'
while [ "\${1#--no-}" != "$1" ]; do shift; done
order=$1
[ "$2" = -- ] && shift
if [ "$order" = show ]; then
  for unit in @SERVICES@; do
    state=active
    [ -e "$DIR/stopped.$unit" ] && state=inactive
    printf 'Id=%s\\nNames=%s\\nLoadState=loaded\\nActiveState=%s\\nMainPID=0\\n\\n' "$unit" "$unit" "$state"
  done
  exit 0
fi
if [ "$order" = is-active ]; then [ ! -e "$DIR/stopped.$2" ] && exit 0; exit 3; fi
echo "$order $2" >> "$DIR/systemctl.log"
case "$order $2" in
@ORDERS@
esac
case "$order" in
stop) : > "$DIR/stopped.$2";;
start) rm -f "$DIR/stopped.$2";;
esac
`;

/** The folder of a new root has to be one that every machine has and nobody needs here. */
const ROOT = `set -e
umask 022
systemctl=$1
shift
root=/mnt
mount -t tmpfs -o mode=755 none "$root"
for entry in /*; do
  if [ "$entry" = "$root" ] || [ "$entry" = /run ]; then continue
  elif [ -L "$entry" ]; then cp -P "$entry" "$root$entry"
  elif [ -d "$entry" ]; then mkdir "$root$entry"; mount --rbind "$entry" "$root$entry"
  fi
done
mkdir -p "$root/mnt" "$root/run"
if [ -n "$systemctl" ]; then
  mkdir -p "$root/run/systemd/system" "$root/run/current-system/sw/bin"
  cp "$systemctl" "$root/run/current-system/sw/bin/systemctl"
  [ ! -e "$root/usr/bin/systemctl" ] || mount --bind "$systemctl" "$root/usr/bin/systemctl"
fi
exec chroot "$root" "$@"
`;
