/** What a scene's main process tells its workers: one line of JSON on their standard input, which ends with main. */
import * as v from "valibot";
import { type Bytes, bytes } from "../../core/units.ts";
import { madeBy } from "./fields.ts";

const NUMBER = v.pipe(v.number(), v.integer(), v.minValue(0));
const SIZE = madeBy<number, Bytes>(v.number(), bytes);
const PLACE = v.object({
  gpu: NUMBER,
  mig: v.exactOptional(v.object({ gpuInstance: NUMBER, computeInstance: NUMBER })),
});
const NODE = v.object({ path: v.string(), open: NUMBER, mapped: NUMBER });

const LIFE = {
  directory: v.string(),
  /** The main process, which started it. */
  main: NUMBER,
  /** Milliseconds since the epoch at which the scene is over; never without it. */
  endsAt: v.exactOptional(NUMBER),
  /** Present for the one that says, once main has ended, that the scene stands: the other holders. */
  announces: v.exactOptional(v.array(NUMBER)),
};

const ORDER = v.variant("role", [
  /** A process with contexts of its own. */
  v.object({
    role: v.literal("cuda"),
    ...LIFE,
    used: v.array(PLACE),
    visible: v.array(NUMBER),
    size: SIZE,
    strays: v.array(v.object({ place: PLACE, hasTensor: v.boolean() })),
    imports: v.array(v.object({ place: PLACE, path: v.string() })),
    erasesEnvironment: v.boolean(),
    /**
     * `follow` ends with main, `outlive` stays until the scene is over; `stop` stops itself and `lose-leader` ends its
     * main thread, and either is killed with main.
     */
    then: v.picklist(["follow", "outlive", "stop", "lose-leader"]),
  }),
  /** A child that main forked: it has main's descriptors and none of its own. */
  v.object({
    role: v.literal("forked"),
    ...LIFE,
    nodes: v.array(NODE),
    inherited: NUMBER,
    /** Leaves by itself this many milliseconds after it has lost main, as a DataLoader's worker does. */
    leavesAfter: v.exactOptional(NUMBER),
  }),
  /** Keeps main's memory after main's end and lets go of it piece by piece, as the driver does. */
  v.object({ role: v.literal("releaser"), ...LIFE, inherited: NUMBER, interval: NUMBER }),
  /** Holds nothing; ends when the workers have. */
  v.object({ role: v.literal("tracker"), ...LIFE, workers: v.array(NUMBER) }),
]);

export type WorkerOrder = v.InferOutput<typeof ORDER>;
/** An order of one role. */
export type OrderFor<Role extends WorkerOrder["role"]> = Extract<WorkerOrder, { readonly role: Role }>;

/** The descriptor on which a worker says that it stands, and the first of those that main passes on. */
export const STANDING_DESCRIPTOR = 3;
export const FIRST_INHERITED_DESCRIPTOR = 4;

/** Reads an order. */
export function parseOrder(line: string): WorkerOrder {
  return v.parse(ORDER, JSON.parse(line));
}
