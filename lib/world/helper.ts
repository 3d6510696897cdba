/** The other end of this program: the helper process in which all calls of a driver are made. */
import { absent, known, type Reading } from "../core/reading.ts";
import { EXIT, messageOf } from "../core/errors.ts";
import { serveHelper } from "../source/helper/serve.ts";
import { realClock } from "./clock.ts";

/** Serves until its parent has no more questions, and gives the exit status. */
export async function runHelper(words: readonly string[]): Promise<number> {
  const ending = await serveHelper(words[0], {
    nvml: async (request) => {
      const { openNvmlSource } = await import("../source/nvml/source.ts");
      return await openNvmlSource(realClock.monotonic, request);
    },
    sim: async ({ directory }) => {
      const { openSimDriver } = await import("../source/sim/driver.ts");
      const driver = await openSimDriver(directory);
      return known({ read: (options) => attemptRead(() => driver.read(options)) });
    },
  });
  return EXIT[ending];
}

/** A simulated server that was removed, or cannot be read, gives no report; it does not end the helper. */
function attemptRead<T>(read: () => T): Reading<T> {
  try {
    return known(read());
  } catch (error) {
    return absent("failed", messageOf(error));
  }
}
