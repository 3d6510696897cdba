/** How a schema takes over the program's own constructors and parsers. */
import * as v from "valibot";

/** A field whose value is what `make` makes of it; the error that `make` throws is the schema's. */
export function madeBy<Input, T>(schema: v.GenericSchema<Input>, make: (value: Input) => T) {
  return v.pipe(
    schema,
    v.rawTransform<Input, T>(({ dataset, addIssue, NEVER }) => {
      try {
        return make(dataset.value);
      } catch (error) {
        if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
        addIssue({ message: error.message });
        return NEVER;
      }
    }),
  );
}
