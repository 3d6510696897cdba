/**
 * A program in nvidia-smi's place for resets: it changes the scenario of the driver's stand-in as the real one changes a
 * machine, or does what a test orders, and writes down each of its calls, each signal that it gets, and who is there with it.
 */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fillIn } from "./fill_in.ts";
import type { TemporaryFolder } from "./temporary.ts";
import { until } from "./until.ts";

/** The orders of a reset: `-r`, `-pm 0`, `-pm 1`, `-rgc`, `-rmc`, `-rac`. */
export type SmiOrder = "r" | "pm0" | "pm1" | "rgc" | "rmc" | "rac";

/** What it does for an order in place of what the real one does. */
export interface SmiOrderAnswer {
  readonly out?: string | Uint8Array;
  readonly status?: number;
  /** Shell commands in front of the answer. `wait_for NAME` waits until the test has called `release(NAME)`. */
  readonly before?: string;
  /** Changes the machine as well, as on success. */
  readonly takesEffect?: boolean;
}

/** One call, from its beginning. */
export interface SmiCall {
  readonly pid: number;
  readonly order: string;
  readonly buses: readonly string[];
  /** Absent while it is at work. */
  readonly status?: number;
  /** Other children that gpuctl had when the call began. */
  readonly siblings: readonly string[];
  /** Signals that it was sent; `PIPE` for a broken output. */
  readonly signals: readonly string[];
  /** What it has open beside the first three descriptors and itself. */
  readonly descriptors: readonly string[];
  /** Whether it has a session of its own. */
  readonly hasOwnSession: boolean;
}

/** The stand-in. It lasts as long as the folder that it was made in. */
export interface ResetSmi {
  readonly path: string;
  calls(): readonly SmiCall[];
  /** Waits until a call for this order has begun. */
  untilBegun(order: SmiOrder): Promise<SmiCall>;
  untilEnded(order: SmiOrder): Promise<SmiCall>;
  /** Lets whoever waits for this name go on. */
  release(name: string): void;
}

const LOG = "smi.log";

/** Writes the stand-in. `scenario` is the file that the driver's stand-in answers from. */
export function resetSmi(
  folder: TemporaryFolder,
  scenario: string,
  answers: Partial<Record<SmiOrder, SmiOrderAnswer>> = {},
): ResetSmi {
  const orders = Object.entries(answers).map(
    ([order, { out = "", status = 0, before, takesEffect = false }]) => {
      folder.write(`smi.${order}.out`, out);
      const effect = takesEffect ? "take_effect" : ":";
      return `${order}) ${before ?? ":"}; ${effect}; answer "$DIR/smi.${order}.out" ${status};;`;
    },
  );
  const path = folder.write(
    "nvidia-smi",
    fillIn(SCRIPT, { DIR: folder.path, SCENARIO: scenario, ORDERS: orders.join("\n") }),
  );
  chmodSync(path, 0o755);
  const calls = () => readCalls(join(folder.path, LOG));
  const untilCall = (order: SmiOrder, isSo: (call: SmiCall) => boolean, what: string) =>
    until(
      `nvidia-smi ${order} to have ${what}`,
      () => calls().find((each) => each.order === order && isSo(each)),
    );
  return {
    path,
    calls,
    untilBegun: (order) => untilCall(order, () => true, "begun"),
    untilEnded: (order) => untilCall(order, ({ status }) => status !== undefined, "ended"),
    release: (name) => writeFileSync(join(folder.path, `release.${name}`), ""),
  };
}

/** Lines of the log: a call's pid, a word, and what it tells. A call is known from its line `begin` on. */
function readCalls(path: string): SmiCall[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1).map((line) => line.split(" "));
  return lines.filter(([, word]) => word === "begin").map(([pid = "", , session, buses = "", ...words]) => {
    const told = (what: string) =>
      lines.filter(([owner, word]) => owner === pid && word === what).map((line) => line.slice(2).join(" "));
    const [status] = told("end");
    return {
      pid: Number(pid),
      order: words.join("").replace(/^-/, ""),
      buses: buses.split(","),
      ...status !== undefined && { status: Number(status) },
      siblings: told("sibling"),
      signals: told("signal"),
      descriptors: told("descriptor"),
      hasOwnSession: session === pid,
    };
  });
}

const SCRIPT = `#!/bin/sh
DIR='@DIR@'
SCENARIO='@SCENARIO@'
log() { echo "$$ $*" >> "$DIR/${LOG}"; }
for name in TERM INT HUP QUIT PIPE; do trap "log signal $name" "$name"; done
# The folder goes with the test: nobody releases us after that.
wait_for() { while [ -d "$DIR" ] && [ ! -e "$DIR/release.$1" ]; do sleep 0.02; done; }
finish() { log end "$1"; exit "$1"; }
answer() { cat "$1" || log signal PIPE; finish "$2"; }
# Changes one word of a GPU's scenario: the line with its address comes before it.
change() {
  awk -v buses="$buses," -v key="$1" -v value="$2" '
    $1 == "bus" { is_ours = index(buses, $2 ",") > 0 }
    is_ours && index($0, key " ") == 1 { print key " " value; next }
    { print }' "$SCENARIO" > "$SCENARIO.$$" && mv "$SCENARIO.$$" "$SCENARIO"
}
is_persistent() {
  awk -v buses="$buses," '$1 == "bus" { is_ours = index(buses, $2 ",") > 0 }
    is_ours && $1 == "persistence" && $2 == 1 { found = 1 } END { exit !found }' "$SCENARIO"
}
take_effect() {
  case "$order" in
  pm0) change persistence 0;;
  pm1) change persistence 1;;
  r) change persistence 0; change used 0; change 'field 230' '0 0'; change remapped '0 0 0 0';;
  esac
}
case "$1 $2" in
"-i "*:*:*.*) buses=$2;;
*) log unnamed; echo "refused: no GPU is named by its address: $*"; exit 2;;
esac
shift 2
order=$(echo "$*" | tr -d ' -')
for status in $(grep -lsE "^PPid:[[:space:]]+$PPID$" /proc/[0-9]*/status); do
  sibling=\${status%/status}
  [ "$sibling" = "/proc/$$" ] || log sibling "$(tr '\\0' ' ' < "$sibling/cmdline")"
done
# In a child of its own: a shell that looks itself has more open for it.
find /proc/$$/fd -mindepth 1 -name '[3-9]*' ! -lname "$0" -printf "$$ descriptor %l\\n" >> "$DIR/smi.log"
log begin "$(cut -d ' ' -f 6 /proc/$$/stat)" "$buses" "$*"
case "$order" in
@ORDERS@
esac
case "$order" in
r)
  if is_persistent; then
    echo "The following GPUs could not be reset:"
    for bus in $(echo "$buses" | tr , ' '); do echo "  GPU $bus: In use by another client"; done
    echo "1 device is currently being used by one or more other processes (e.g., Fabric Manager, CUDA application)."
    finish 255
  fi
  take_effect
  for bus in $(echo "$buses" | tr , ' '); do echo "GPU $bus was successfully reset."; done;;
*) take_effect;;
esac
echo "All done."
finish 0
`;
