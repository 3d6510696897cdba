/**
 * How a program ended that was run with a limit. It is left running when the limit is over: ended half-way through a
 * reset it could leave a GPU that only a reboot helps. `stuck` is one that waits in the kernel (state D) then.
 */
export type ToolRun =
  | {
    readonly kind: "ended";
    readonly status: number | undefined;
    readonly signal: string | undefined;
    /** Standard output, then standard error. */
    readonly text: string;
  }
  | { readonly kind: "not-started"; readonly message: string }
  | { readonly kind: "timed-out"; readonly pid?: number }
  | { readonly kind: "too-long" }
  | { readonly kind: "stuck"; readonly pid: number };
