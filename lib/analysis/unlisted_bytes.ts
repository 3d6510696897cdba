/** What a process costs on a GPU that the driver counts as used and lists with nobody (two H200s, driver 580.159.04). */

const MIB = 1024 ** 2;

/** One that sees the GPU without using it: 3.25 MiB. */
export const VISIBILITY_BYTES = 4 * MIB;
/** One with a context there, beside what is listed: 8.8 to 9 MiB. */
export const CONTEXT_BYTES = 12 * MIB;
