import { messageOf } from "../../core/errors.ts";
import type { Reading } from "../../core/reading.ts";
import { bytes, formatBytes } from "../../core/units.ts";
import type { DriverReport } from "../../model/gpu.ts";
import type { LookExtras } from "../../world/ports.ts";
import { encodeQuestion, parseAnswer } from "./frames.ts";
import type { ChildEnding, PipedChild } from "./piped_child.ts";
import { LATE, within } from "./within.ts";

/** What came of a question. After anything but an answer the session is of no more use. */
export type Reply =
  | { readonly kind: "answered"; readonly report: Reading<DriverReport> }
  | { readonly kind: "late" }
  | { readonly kind: "ended"; readonly ending: ChildEnding }
  | { readonly kind: "nonsense"; readonly message: string };

/** What a question is asked with. */
export interface AskOptions extends LookExtras {
  /** Milliseconds to wait for the answer. */
  readonly span: number;
}

/** Far more than 16 GPUs with 2,000 processes each need; a helper that writes on and on must not fill our memory. */
const LONGEST_ANSWER = 16 * 1024 ** 2;
/** SIGKILL ends a process in a few milliseconds unless a call in the kernel holds it. */
const KILL_WAIT = 500;
const LINE_END = 0x0a;

/** One running helper, from its start to its end. */
export class HelperSession {
  readonly #child: PipedChild;
  #asked = 0;
  #last: Reading<DriverReport> | undefined;

  constructor(child: PipedChild) {
    this.#child = child;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Asks for a report; the question is on its way when this returns. Never rejects. One question at a time. */
  async ask({ span, ...extras }: AskOptions): Promise<Reply> {
    const id = ++this.#asked;
    this.#child.write(encodeQuestion({ id, ...extras }));
    const reply = await within(this.#readReply(id), span);
    return reply === LATE ? { kind: "late" } : reply;
  }

  /** Ends the helper without ceremony: it holds nothing that needs one. Says whether it is gone. */
  async end(): Promise<boolean> {
    this.#child.kill();
    const ending = await within(this.#child.ended, KILL_WAIT);
    this.#child.release();
    return ending !== LATE;
  }

  /** Ends the helper as `end` does, and does not wait for it: 4 ms on a GPU, whose descriptors are closed meanwhile. */
  leave(): void {
    this.#child.kill();
    this.#child.release();
  }

  async #readReply(id: number): Promise<Reply> {
    try {
      const line = await this.#readLine();
      if (line === undefined) return { kind: "ended", ending: await this.#child.ended };
      const answer = parseAnswer(line);
      if (answer.id !== id) {
        return { kind: "nonsense", message: `it answers question ${answer.id} when ${id} was asked` };
      }
      const report = answer.report === "same" ? this.#last : answer.report;
      if (report === undefined) return { kind: "nonsense", message: "its first answer refers to one before" };
      this.#last = report;
      return { kind: "answered", report };
    } catch (error) {
      if (!(error instanceof SyntaxError) && !(error instanceof RangeError)) throw error;
      return { kind: "nonsense", message: messageOf(error) };
    }
  }

  /** The next line, `undefined` once there is none. */
  async #readLine(): Promise<string | undefined> {
    const decoder = new TextDecoder();
    let text = "";
    let length = 0;
    for (;;) {
      const part = await this.#child.read();
      if (part === undefined) return undefined;
      length += part.length;
      if (length > LONGEST_ANSWER) {
        throw new SyntaxError(
          `Cannot take the answer: it is longer than ${formatBytes(bytes(LONGEST_ANSWER))}`,
        );
      }
      const end = part.indexOf(LINE_END);
      if (end >= 0 && end < part.length - 1) {
        throw new SyntaxError("Cannot take the answer: it has more than one line");
      }
      text += decoder.decode(end < 0 ? part : part.subarray(0, end), { stream: end < 0 });
      if (end >= 0) return text;
    }
  }
}
