/** A program that can be nothing but a helper: `helper_program.ts helper ARGUMENT`, as gpuctl starts itself. */
import process from "node:process";
import { EXIT } from "../../lib/core/errors.ts";
import { known } from "../../lib/core/reading.ts";
import { milliseconds } from "../../lib/core/units.ts";
import { serveHelper } from "../../lib/source/helper/serve.ts";
import { openNvmlSource } from "../../lib/source/nvml/source.ts";

const ending = await serveHelper(process.argv[3], {
  nvml: (request) => openNvmlSource(() => milliseconds(performance.now()), request),
  // A source with a bug in it.
  sim: ({ directory }) =>
    Promise.resolve(known({
      read() {
        throw new TypeError(`no such property of ${directory}`);
      },
    })),
});
process.exit(EXIT[ending]);
