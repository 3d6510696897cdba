/** What has happened by a point of the program, on the paths that lead to it. Immutable, so that branches can be compared. */
import type { Place } from "./finding.ts";
import type { Value } from "./program.ts";

/** A statement, and where it stands. */
export interface Step {
  readonly place: Place;
  readonly statement: string;
}

/** Something that happened, where, and on which paths. */
export interface Happened {
  /** As a person would name it: `import torch`, `torch.cuda.is_available()`. */
  readonly what: string;
  readonly at: Step;
  /** The import statements that led there, outermost first. */
  readonly importedAt: readonly Step[];
  /** False if it happens on some paths only, or in some versions. */
  readonly isCertain: boolean;
}

/** The last value given to a variable that CUDA reads; `undefined` when it was removed or is not known. */
export interface Setting {
  readonly value: Value | undefined;
  readonly isCertain: boolean;
}

/** What has happened so far. */
export interface State {
  /** Frameworks that are loaded, by the module's first name, in order. */
  readonly frameworks: ReadonlyMap<string, Happened>;
  /** Modules that were imported and are not among the sources, and of which nothing is known. */
  readonly unread: ReadonlyMap<string, Happened>;
  /** The first thing that started CUDA. */
  readonly cudaStart: Happened | undefined;
  readonly settings: ReadonlyMap<string, Setting>;
}

/** Before the first statement. */
export const NOTHING_YET: State = {
  frameworks: new Map(),
  unread: new Map(),
  cudaStart: undefined,
  settings: new Map(),
};

/** Notes a framework. The first time counts. */
export function withFramework(state: State, name: string, happened: Happened): State {
  const before = state.frameworks.get(name);
  if (before && (before.isCertain || !happened.isCertain)) return state;
  return {
    ...state,
    frameworks: new Map([...state.frameworks, [name, before ? { ...before, isCertain: true } : happened]]),
  };
}

/** Notes a module of which nothing is known. */
export function withUnread(state: State, name: string, happened: Happened): State {
  return state.unread.has(name) ? state : { ...state, unread: new Map([...state.unread, [name, happened]]) };
}

/** Notes that CUDA is started. Once that is certain, nothing later matters. */
export function withCudaStart(state: State, happened: Happened): State {
  if (state.cudaStart?.isCertain === true || state.cudaStart && !happened.isCertain) return state;
  return { ...state, cudaStart: happened };
}

/** Notes the value of a variable. */
export function withSetting(state: State, variable: string, setting: Setting): State {
  return { ...state, settings: new Map([...state.settings, [variable, setting]]) };
}

/** What has happened when one of several paths was taken. The first one itself where all say the same. */
export function joinStates(paths: readonly State[]): State {
  const [first = NOTHING_YET, ...others] = paths;
  if (others.every((other) => other === first)) return first;
  return reuse(first, {
    frameworks: joinHappened(paths.map(({ frameworks }) => frameworks)),
    unread: joinHappened(paths.map(({ unread }) => unread)),
    cudaStart: joinStart(paths),
    settings: joinSettings(paths),
  });
}

/** What has happened when a path that goes on from `main` may have been taken besides: what `main` is sure of stays sure. */
export function addPath(main: State, side: State): State {
  const joined = joinStates([main, side]);
  if (joined === main) return main;
  const frameworks = [...joined.frameworks].map(([name, happened]) =>
    [name, main.frameworks.get(name) ?? happened] as const
  );
  return reuse(main, {
    ...joined,
    frameworks: joined.frameworks === main.frameworks ? main.frameworks : new Map(frameworks),
    cudaStart: main.cudaStart?.isCertain === true ? main.cudaStart : joined.cudaStart,
  });
}

/** States are compared by identity, so one that says nothing new is not made anew. */
function reuse(before: State, after: State): State {
  const isSame = before.frameworks === after.frameworks && before.unread === after.unread &&
    before.cudaStart === after.cudaStart && before.settings === after.settings;
  return isSame ? before : after;
}

function joinHappened(maps: readonly ReadonlyMap<string, Happened>[]): ReadonlyMap<string, Happened> {
  const [first, ...others] = maps;
  if (first === undefined || others.every((other) => other === first)) return first ?? new Map();
  const joined = new Map<string, Happened>();
  for (const map of maps) {
    for (const [name, happened] of map) {
      if (joined.has(name)) continue;
      const isCertain = maps.every((other) => other.get(name)?.isCertain === true);
      joined.set(name, isCertain === happened.isCertain ? happened : { ...happened, isCertain });
    }
  }
  return joined;
}

function joinStart(paths: readonly State[]): Happened | undefined {
  const starts = paths.map(({ cudaStart }) => cudaStart);
  const first = starts.find((start) => start !== undefined);
  if (first === undefined) return undefined;
  const isCertain = starts.every((start) => start?.isCertain === true);
  return isCertain === first.isCertain ? first : { ...first, isCertain };
}

function joinSettings(paths: readonly State[]): ReadonlyMap<string, Setting> {
  const [first, ...others] = paths.map(({ settings }) => settings);
  if (first === undefined || others.every((other) => other === first)) return first ?? new Map();
  const names = new Set(paths.flatMap(({ settings }) => [...settings.keys()]));
  return new Map([...names].map((name) => [name, { value: undefined, isCertain: false }]));
}
