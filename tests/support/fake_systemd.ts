import { GpuctlError } from "../../lib/core/errors.ts";
import type { FoundUnit, UnitFile } from "../../lib/model/unit_file.ts";
import type { Systemd } from "../../lib/world/ports.ts";

/** A systemd that notes what it is told and can be made to misbehave. */
export interface FakeSystemd extends Systemd {
  /** The unit folder. */
  readonly units: Map<string, FoundUnit>;
  /** Orders, and in front of them what was done to the folder. */
  readonly log: readonly string[];
}

export interface FakeOptions {
  readonly units?: Readonly<Record<string, FoundUnit>>;
  /** The timer runs already. */
  readonly isActive?: boolean;
  /** It takes the order to enable and does nothing. */
  readonly isDeaf?: boolean;
  /** A program that somebody else could replace. */
  readonly unsafeProgram?: string;
  /** The first word of an order that it refuses. */
  readonly refuses?: string;
}

/** Makes one. */
export function fakeSystemd(options: FakeOptions = {}): FakeSystemd {
  const units = new Map(Object.entries(options.units ?? {}));
  const log: string[] = [];
  let isActive = options.isActive ?? false;
  return {
    units,
    log,
    unitPath: (name) => `/etc/systemd/system/${name}`,
    findUnit: (name) => units.get(name),
    writeUnit({ name, text }: UnitFile) {
      log.push(`write ${name}`);
      units.set(name, { kind: "file", text });
    },
    removeUnit(name) {
      log.push(`remove ${name}`);
      units.delete(name);
    },
    checkProgram(path) {
      if (path === options.unsafeProgram) throw new GpuctlError("refused", `Cannot run ${path} from a unit`);
    },
    order(words) {
      log.push(words.join(" "));
      if (words[0] === options.refuses) {
        return Promise.reject(new GpuctlError("partial", `Cannot run systemctl ${words[0]}: access denied`));
      }
      if (words[0] === "enable" && !options.isDeaf) isActive = true;
      const state = isActive ? "ActiveState=active\nUnitFileState=enabled\n" : "ActiveState=inactive\n";
      return Promise.resolve(words[0] === "show" ? state : "");
    },
  };
}
