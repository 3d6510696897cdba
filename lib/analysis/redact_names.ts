/** Single names without what they give away: of people, machines, programs, places, containers, GPUs. */
import {
  findFamily,
  isProduct,
  isProfile,
  isPublicArgument,
  isPublicPlace,
  isPublicProgram,
  isPublicRelease,
  isPublicUser,
} from "./redact_public.ts";
import { StandIns } from "./redact_stand_ins.ts";

/** What a name may end in without giving anything away: kinds of units and of files. */
const ENDING = /^(.+)(\.(?:service|scope|slice|socket|mount|py|sh|so))$/s;
const UNIT = /^.+\.(?:service|scope|slice|socket|mount)$/s;
/** The kubelet counts on systemd, the runtime does not: `kubepods-pod<uid>.slice:cri-containerd:<id>`. */
const IN_SLICE = /^(.+\.slice):(docker|cri-containerd|nerdctl|crio|libpod):(.+)$/s;
/** A container's id, or what stands in for it already. */
const HASH = "(?:[0-9a-f]{32,64}(?:-\\d+)?|[a-z]+-\\d+)";
/** Below this uids are the system's (UID_MIN of login.defs(5)); the last one is `nobody`. */
const FIRST_PERSON = 1000;
const NOBODY = 65_534;
const FIRST_UID_STAND_IN = 10_000;
const SHORT_ID = 12;
const LONG_ID = /^[0-9a-f]{32,}$/;

/** Names that are made of a known beginning, something to be replaced, and a known ending. First match wins. */
const COMPOSITES: readonly {
  readonly pattern: RegExp;
  readonly replace: (names: Names, inner: string) => string;
}[] = [
  { pattern: /^(user-|user@|user-runtime-dir@|uid_)(0|[1-9]\d{0,9})((?:\.slice|\.service)?)$/, replace: uid },
  { pattern: /^(session-)(c?\d+)(\.scope)$/, replace: (names, inner) => names.session(inner) },
  { pattern: /^(job_|step_|task_)(.+)()$/s, replace: (names, inner) => names.job(inner) },
  { pattern: /^()(.+)(_slurmstepd\.scope)$/s, replace: host },
  { pattern: /^(slurm_)(.+)()$/s, replace: host },
  {
    pattern: new RegExp(
      `^((?:docker|cri-containerd|nerdctl|crio|libpod)(?:-conmon)?-)(${HASH})((?:\\.scope)?)$`,
    ),
    replace: container,
  },
  { pattern: /^(lxc\.(?:payload|monitor)\.)(.+)()$/s, replace: container },
  { pattern: /^(machine-|systemd-nspawn@)(.+)(\.scope|\.service)$/s, replace: container },
  {
    pattern: /^(kubepods-(?:burstable-|besteffort-)?pod)(.+)(\.slice)$/s,
    replace: (names, inner) => names.pod(inner),
  },
  {
    pattern: /^(pod)([0-9a-f]{8}-[0-9a-f-]{20,}|[a-z]+-\d+)()$/,
    replace: (names, inner) => names.pod(inner),
  },
];

/** Gives the names of one report their stand-ins. */
export class Names {
  readonly #names = new StandIns();
  readonly #uids = new StandIns((_, number) => String(FIRST_UID_STAND_IN + number));
  readonly #releases = new StandIns((_, number) => `kernel${number}`);
  readonly #sessions = new StandIns((_, number) => String(number));
  readonly #gpus = new StandIns((kind, number) =>
    kind === "gpu"
      ? `gpu-${number}`
      : `${kind}-${String(number).padStart(8, "0")}-0000-0000-0000-000000000000`
  );

  /** A person. All of them must be known before other names: what everybody may have is kept unless it is somebody's name. */
  user(name: string): string {
    return isPublicUser(name) || name === "" ? name : this.#names.of(name, "user");
  }

  /** A machine; to be known before other names as well. */
  host(name: string): string {
    return name === "localhost" || name === "" ? name : this.#names.of(name, "host");
  }

  bootId(id: string): string {
    return this.name(id, "boot");
  }

  /** A uid as a number in text; the system's own stay. */
  uid(id: number): number {
    return id < FIRST_PERSON || id === NOBODY ? id : Number(this.#uids.of(String(id), ""));
  }

  session(id: string): string {
    return id === "" ? id : this.#sessions.of(id, "");
  }

  /** Counted job numbers stay, as pids do; longer ones and letters may be found elsewhere. */
  job(id: string): string {
    return /^(?:\d{0,7}|batch|extern|interactive)$/.test(id) ? id : this.name(id, "job");
  }

  pod(id: string): string {
    return this.name(id.replaceAll("_", "-"), "pod");
  }

  container(id: string): string {
    const standIn = this.name(id, "container");
    // Sentences name a container by the beginning of its id.
    if (LONG_ID.test(id)) this.#names.alias(id.slice(0, SHORT_ID), standIn);
    return standIn;
  }

  /** A GPU or MIG device. Ids that stand in for a missing UUID are made of numbers and stay. */
  gpu(uuid: string): string {
    if (/^(?:unnamed|(?:index|minor):\d{1,7}|bus:[\da-f]{8}:[\da-f]{2}:[\da-f]{2}\.[0-7])$/.test(uuid)) {
      return uuid;
    }
    const [, inner, instances] = /^mig:(.*)(\/(?:\d+|\?)\/(?:\d+|\?))$/s.exec(uuid) ?? [];
    if (inner !== undefined) return `mig:${this.gpu(inner)}${instances}`;
    const kind = /^(?:GPU|MIG)(?=-)/.exec(uuid)?.[0];
    return this.#gpus.of(uuid, kind ?? "gpu");
  }

  /** The kind of a GPU. */
  product(name: string): string {
    return isProduct(name) ? name : this.name(name, "model");
  }

  /** A MIG profile. */
  profile(profile: string): string {
    return isProfile(profile) ? profile : this.name(profile, "profile");
  }

  /** A program's short name, or its path where a source prints that. */
  program(name: string): string {
    return name.includes("/") ? this.path(name) : this.name(name, "name");
  }

  argument(word: string): string {
    if (isPublicArgument(word)) return word;
    return word.includes("/") ? this.path(word) : this.name(word, "arg");
  }

  /** A path of files or of control groups, part by part. */
  path(path: string): string {
    // What the kernel names by numbers are pids and descriptors.
    const isOfKernel = /^\/(?:proc|sys|dev)\//.test(path);
    return path.split("/").map((part) => isOfKernel && /^\d{1,7}$/.test(part) ? part : this.part(part)).join(
      "/",
    );
  }

  /** One part of a path, or a unit: both may be composed of an id and what the system puts around it. */
  part(part: string): string {
    if (isPublicPlace(part)) return part;
    for (const { pattern, replace } of COMPOSITES) {
      const [, before, inner, after] = pattern.exec(part) ?? [];
      if (before !== undefined && inner !== undefined && after !== undefined) {
        return `${before}${replace(this, inner)}${after}`;
      }
    }
    const [, slice, runtime, id] = IN_SLICE.exec(part) ?? [];
    if (slice !== undefined && id !== undefined) {
      return `${this.part(slice)}:${runtime}:${this.container(id)}`;
    }
    return this.name(part, UNIT.test(part) ? "unit" : "part");
  }

  /** The release of a kernel, `6.8.0-45-generic`: numbers and the flavours of distributions stay. */
  release(release: string): string {
    return release.split(/([-.+_~])/).map((part, place) =>
      place % 2 === 1 || part === "" || isPublicRelease(part) ? part : this.#releases.of(part, "")
    ).join("");
  }

  /** Any name: kept if everybody may have it, else a stand-in, of this kind where it is new, that keeps its ending. */
  name(name: string, kind: string): string {
    if (name === "") return name;
    const known = this.#names.find(name);
    if (known !== undefined) return known;
    if (isPublicProgram(name)) return name;
    const [, stem, ending] = ENDING.exec(name) ?? [];
    if (stem !== undefined && ending !== undefined) {
      const standIn = `${this.name(stem, kind)}${ending}`;
      this.#names.alias(name, standIn);
      return standIn;
    }
    return this.#names.of(name, findFamily(name) ?? kind);
  }
}

function uid(names: Names, id: string): string {
  return String(names.uid(Number(id)));
}

function host(names: Names, name: string): string {
  return names.name(name, "host");
}

/** systemd writes a hyphen within a name as `\x2d` (systemd.unit(5)). */
function container(names: Names, id: string): string {
  return names.container(id.replaceAll("\\x2d", "-"));
}
