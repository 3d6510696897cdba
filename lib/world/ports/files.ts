/** Files, and what outlives a run: locks, notes and the record of acts. */
import type { Reading } from "../../core/reading.ts";
import type { AuditJson } from "../../model/schema/audit.ts";
import type { LiveSource } from "../../model/source_choice.ts";

export interface Files {
  /** Reads a whole file of at most 64 MiB. @throws the system's error, with its code; another if it is larger */
  readText(path: string): string;
  /** Writes the whole file or leaves it as it was, no link followed; mode 0600, or 0644 whatever the umask says. */
  writeWhole(path: string, text: string, options?: { readonly isWorldReadable: boolean }): void;
}

/** Files that are written after work that must not be done in vain. */
export interface OutputFiles {
  /** @throws {GpuctlError} now, if `Files.writeWhole` could not write there later */
  checkPlace(path: string): void;
  /** Opens a new file, mode 0600, in place of the one that is there. @throws {GpuctlError} if it cannot */
  openLines(path: string): LineFile;
}

/** A file that grows by whole lines. */
export interface LineFile extends Disposable {
  /** @throws {GpuctlError} if the line cannot be written */
  append(line: string): void;
}

/** Keeps two runs apart. The system gives a lock back when its holder ends, however it ends. */
export interface Locks {
  /**
   * Takes the lock of an act on a source; `undefined` while another process has it.
   *
   * @throws {GpuctlError} if there is no safe place for it
   */
  acquire(name: string, source: LiveSource): Disposable | undefined;
}

/** Small texts that one run leaves for the next, about one source. Lost with a reboot. */
export interface Notes {
  read(name: string, source: LiveSource): string | undefined;
  /** @throws {GpuctlError} if there is no safe place for it */
  write(name: string, source: LiveSource, text: string): void;
}

/** A record of everything that was ended or reset. */
export interface AuditLog {
  readonly path: string;
  /** What is on record so far; absent where there is no record, or one that somebody else could have written. Never waits. */
  read(): Reading<string>;
  /**
   * Appends one record as one line, and returns only when it is on the disk.
   *
   * @throws {GpuctlError} if it cannot: then nothing may be done that it should tell of
   */
  append(record: AuditJson): void;
}
