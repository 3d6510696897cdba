/**
 * Snapshots that may be shown to strangers: who shares what with whom stays, and who they are does not.
 *
 * It works on what was concluded, not on what was seen: classes and evidence are those of the true names, and a saved
 * snapshot, which has nothing but conclusions, is redacted in the same way.
 */
import { gpuUuid, uid } from "../core/ids.ts";
import { type Absent, absent, known, type Reading } from "../core/reading.ts";
import type { Context, Driver, Gpu, MigInstance, ProcessList } from "../model/gpu.ts";
import type { Owner } from "../model/process.ts";
import type {
  Ghost,
  GpuAccount,
  Holder,
  HolderDevice,
  HolderJob,
  Host,
  Problem,
  Snapshot,
} from "../model/snapshot.ts";
import { Names } from "./redact_names.ts";
import { Sentences } from "./redact_text.ts";

/**
 * Replaces users, hosts, paths, arguments, names of programs and units, ids of containers, pods and GPUs by stand-ins, in
 * fields and in sentences. The same text has the same stand-in everywhere, and others have others.
 * Pids, numbers, times, kinds of GPU and versions stay, and so do names that every machine may have. Redacting the result
 * changes nothing.
 */
export function redactSnapshot(snapshot: Snapshot): Snapshot {
  const names = new Names();
  const sentences = new Sentences(names);
  // A program that is called like somebody is no longer one that everybody has.
  if (snapshot.host.name.ok) names.host(snapshot.host.name.value);
  for (const { user } of snapshot.holders) if (user.ok) names.user(user.value);
  // Sentences name what stands in fields further down, so all fields come first.
  new Redactor(names, { ...KEEP, learn: (text, standIn) => sentences.learn(text, standIn) }).snapshot(
    snapshot,
  );
  return new Redactor(names, { ...KEEP, rewrite: (text) => sentences.rewrite(text) }).snapshot(snapshot);
}

interface Text {
  rewrite(sentence: string): string;
  /** Told of every name that a sentence may hold. */
  learn(text: string, standIn: string): void;
}

const KEEP: Text = { rewrite: (sentence) => sentence, learn: () => {} };

/** Goes through a snapshot. Every key is named, so that a new one is not passed on by itself. */
class Redactor {
  readonly #names: Names;
  readonly #text: Text;

  constructor(names: Names, text: Text) {
    this.#names = names;
    this.#text = text;
  }

  snapshot(snapshot: Snapshot): Snapshot {
    return {
      takenAt: this.#reading(snapshot.takenAt),
      source: snapshot.source,
      simulated: snapshot.simulated,
      host: this.#host(snapshot.host),
      driver: this.#reading(snapshot.driver, (driver) => this.#driver(driver)),
      gpus: snapshot.gpus.map((account) => this.#account(account)),
      unreadableGpus: snapshot.unreadableGpus.map(({ index, reason }) => ({
        index,
        reason: this.#absent(reason),
      })),
      holders: snapshot.holders.map((holder) => this.#holder(holder)),
      ghosts: snapshot.ghosts.map((ghost) => this.#ghost(ghost)),
      problems: snapshot.problems.map((problem) => this.#problem(problem)),
    };
  }

  #host({ name, bootId, kernel }: Host): Host {
    return {
      name: this.#reading(name, (text) => this.#told(text, this.#names.host(text))),
      bootId: this.#reading(bootId, (text) => this.#told(text, this.#names.bootId(text))),
      kernel: this.#reading(kernel, (text) => this.#names.release(text)),
    };
  }

  #driver({ version, libraryVersion, cudaVersion }: Driver): Driver {
    const rewrite = (text: string) => this.#text.rewrite(text);
    return {
      version: this.#reading(version, rewrite),
      libraryVersion: this.#reading(libraryVersion, rewrite),
      cudaVersion: this.#reading(cudaVersion, rewrite),
    };
  }

  #account({ gpu, unattributed, cause }: GpuAccount): GpuAccount {
    return {
      gpu: this.#gpu(gpu),
      unattributed: this.#reading(unattributed),
      ...cause !== undefined && { cause: this.#text.rewrite(cause) },
    };
  }

  #gpu(gpu: Gpu): Gpu {
    return {
      index: gpu.index,
      uuid: this.#uuid(gpu.uuid),
      name: this.#reading(gpu.name, (name) => this.#names.product(name)),
      busId: this.#reading(gpu.busId),
      minor: this.#reading(gpu.minor),
      memoryTotal: this.#reading(gpu.memoryTotal),
      memoryUsed: this.#reading(gpu.memoryUsed),
      memoryReserved: this.#reading(gpu.memoryReserved),
      memoryFree: this.#reading(gpu.memoryFree),
      usedIncludesReserve: this.#reading(gpu.usedIncludesReserve),
      utilization: this.#reading(gpu.utilization),
      persistenceMode: this.#reading(gpu.persistenceMode),
      computeMode: this.#reading(gpu.computeMode),
      displayActive: this.#reading(gpu.displayActive),
      migMode: this.#reading(gpu.migMode),
      migInstances: this.#reading(gpu.migInstances, (all) => all.map((each) => this.#migInstance(each))),
      recoveryAction: this.#reading(gpu.recoveryAction),
      processList: this.#processList(gpu.processList),
    };
  }

  #migInstance(instance: MigInstance): MigInstance {
    return {
      uuid: this.#uuid(instance.uuid),
      gpuInstance: this.#reading(instance.gpuInstance),
      computeInstance: this.#reading(instance.computeInstance),
      profile: this.#reading(instance.profile, (profile) => this.#names.profile(profile)),
      memoryTotal: this.#reading(instance.memoryTotal),
      memoryUsed: this.#reading(instance.memoryUsed),
    };
  }

  #processList(list: ProcessList): ProcessList {
    if (list.state === "unknown") return { state: list.state, reason: this.#absent(list.reason) };
    const contexts = list.contexts.map((context) => this.#context(context));
    return list.state === "known"
      ? { state: list.state, contexts }
      : { state: list.state, contexts, reason: this.#absent(list.reason) };
  }

  #context({ pid, kind, used, gpuInstance, computeInstance, name }: Context): Context {
    return {
      pid,
      kind,
      used: this.#reading(used),
      ...gpuInstance !== undefined && { gpuInstance },
      ...computeInstance !== undefined && { computeInstance },
      ...name !== undefined && { name: this.#told(name, this.#names.program(name)) },
    };
  }

  #holder(holder: Holder): Holder {
    return {
      pid: holder.pid,
      startTicks: this.#reading(holder.startTicks),
      uid: this.#reading(holder.uid, (id) => uid(this.#names.uid(id))),
      user: this.#reading(holder.user, (text) => this.#told(text, this.#names.user(text))),
      owner: this.#reading(holder.owner, (owner) => this.#owner(owner)),
      ...holder.job !== undefined && { job: this.#job(holder.job) },
      name: this.#told(holder.name, this.#names.program(holder.name)),
      argv: this.#reading(holder.argv, (words) => this.#argv(words)),
      state: this.#reading(holder.state),
      threads: this.#reading(holder.threads),
      parentPid: this.#reading(holder.parentPid),
      class: holder.class,
      evidence: holder.evidence.map((sentence) => this.#text.rewrite(sentence)),
      advice: this.#text.rewrite(holder.advice),
      devices: holder.devices.map((device) => this.#device(device)),
    };
  }

  #argv(words: readonly string[]): string[] {
    const [first, ...rest] = words;
    if (first === undefined) return [];
    return [
      this.#told(first, this.#names.argument(first)),
      ...rest.map((word) => this.#names.argument(word)),
    ];
  }

  #owner({ cgroup, isCgroupDeleted, unit, loginSession, container, pod, slurmJob, slurmStep }: Owner): Owner {
    const names = this.#names;
    // Ids before the paths that hold them: a stand-in is called after what it was first seen as.
    return {
      ...container !== undefined && {
        container: {
          id: this.#told(container.id, names.container(container.id)),
          runtime: container.runtime,
          isMonitor: container.isMonitor,
        },
      },
      ...pod !== undefined && { pod: this.#told(pod, names.pod(pod)) },
      ...slurmJob !== undefined && { slurmJob: this.#told(slurmJob, names.job(slurmJob)) },
      ...slurmStep !== undefined && { slurmStep: names.job(slurmStep) },
      ...loginSession !== undefined && { loginSession: names.session(loginSession) },
      ...unit !== undefined && { unit: this.#told(unit, names.part(unit)) },
      cgroup: this.#told(cgroup, names.path(cgroup)),
      isCgroupDeleted,
    };
  }

  #job({ launcher, firstPid, name, rank }: HolderJob): HolderJob {
    return {
      launcher,
      firstPid,
      ...name !== undefined && { name: this.#told(name, this.#names.name(name, "job")) },
      ...rank !== undefined && { rank },
    };
  }

  #device({ gpu, contextBytes, isOpen, isMapped }: HolderDevice): HolderDevice {
    return {
      gpu: this.#uuid(gpu),
      contextBytes: this.#reading(contextBytes),
      isOpen: this.#reading(isOpen),
      isMapped: this.#reading(isMapped),
    };
  }

  #ghost({ pid, gpu, contextBytes, likelyHolders }: Ghost): Ghost {
    return {
      pid,
      gpu: this.#uuid(gpu),
      contextBytes: this.#reading(contextBytes),
      likelyHolders: likelyHolders.map(({ pid, reasons }) => ({
        pid,
        reasons: reasons.map((sentence) => this.#text.rewrite(sentence)),
      })),
    };
  }

  #problem({ subject, reason, message }: Problem): Problem {
    return {
      subject: this.#text.rewrite(subject),
      reason: this.#absent(reason),
      message: this.#text.rewrite(message),
    };
  }

  #uuid(uuid: string): Gpu["uuid"] {
    return gpuUuid(this.#told(uuid, this.#names.gpu(uuid)));
  }

  #told(text: string, standIn: string): string {
    this.#text.learn(text, standIn);
    return standIn;
  }

  #reading<T>(reading: Reading<T>, change: (value: T) => T = (value) => value): Reading<T> {
    return reading.ok ? known(change(reading.value)) : this.#absent(reading);
  }

  #absent({ why, detail }: Absent): Absent {
    return absent(why, detail === undefined ? undefined : this.#text.rewrite(detail));
  }
}
