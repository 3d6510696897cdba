/** Can this driver and these GPUs run what a framework was built for? */
import { formatAbsent } from "../../core/reading.ts";
import type { CheckVerdict } from "../../model/doctor.ts";
import type { Framework, FrameworkBuild, PythonInterpreter } from "../../model/python_packages.ts";
import { judgeBuild } from "./framework_build.ts";
import type { CheckPlan, DoctorFacts } from "./facts.ts";
import { skipped, unseen, worstVerdict } from "./verdict.ts";

const EXPLANATION =
  "A framework brings its own CUDA. It needs a driver that is new enough for it, and code for the GPU; " +
  "a build for the processor alone never uses a GPU.";

/** One check for each framework. */
export const FRAMEWORK_CHECKS: readonly CheckPlan[] = [
  planOf("torch", "framework.torch", "PyTorch"),
  planOf("tensorflow", "framework.tensorflow", "TensorFlow"),
  planOf("jax", "framework.jax", "JAX"),
  planOf("cupy", "framework.cupy", "CuPy"),
];

function planOf(framework: Framework, id: CheckPlan["id"], name: string): CheckPlan {
  return {
    id,
    title: `${name} was built for this driver and these GPUs`,
    explanation: EXPLANATION,
    reads: ["driver", "python"],
    judge: (facts) => judgeFramework(framework, name, facts),
  };
}

function judgeFramework(framework: Framework, name: string, { driver, python }: DoctorFacts): CheckVerdict {
  if (!python.ok) return unseen("which packages the Python interpreters have", python);
  if (python.value.length === 0) return skipped("no Python interpreter was found: --python names one");
  const unread = python.value.flatMap(({ path, builds }) =>
    builds.ok ? [] : [unseen(`what is installed for ${path}`, builds)]
  );
  const builds = python.value.flatMap((interpreter) => buildsOf(interpreter, framework));
  if (builds.length === 0 && unread.length === 0) {
    return skipped(`${name} is not installed for ${python.value.map(({ path }) => path).join(", ")}`);
  }
  return worstVerdict([...builds.map((each) => judgeOne(each, driver)), ...unread]);
}

interface InstalledBuild {
  readonly interpreter: PythonInterpreter;
  readonly build: FrameworkBuild;
}

function buildsOf(interpreter: PythonInterpreter, framework: Framework): InstalledBuild[] {
  const { builds } = interpreter;
  if (!builds.ok) return [];
  return builds.value.filter((build) => build.framework === framework).map((build) => ({
    interpreter,
    build,
  }));
}

function judgeOne({ interpreter, build }: InstalledBuild, driver: DoctorFacts["driver"]): CheckVerdict {
  const who = `${build.distribution} ${
    build.version.ok ? build.version.value : "of unknown version"
  } of ${interpreter.path}`;
  const said = describeTarget(build);
  const verdict = judgeAgainst(build, driver);
  const sentence = `${who} ${said}`;
  // What does not apply is told in one sentence.
  return verdict.status === "skipped"
    ? skipped([sentence, ...verdict.evidence].join("; "))
    : { ...verdict, evidence: [sentence, ...verdict.evidence] };
}

function describeTarget({ target, toldBy }: FrameworkBuild): string {
  if (!target.ok) return `does not tell what it was built for: ${formatAbsent(target)}`;
  switch (target.value.kind) {
    case "cuda":
      return `was built for CUDA ${target.value.version} (${toldBy})`;
    case "cpu":
      return `was built for the processor alone (${toldBy})`;
    case "rocm":
      return `was built for AMD's GPUs (${toldBy})`;
  }
}

function judgeAgainst(build: FrameworkBuild, driver: DoctorFacts["driver"]): CheckVerdict {
  if (!driver.ok) return unseen("the driver", driver);
  const { isLoaded } = driver.value;
  if (!isLoaded.ok) return unseen("whether a driver is loaded", isLoaded);
  if (!isLoaded.value) {
    return skipped("no NVIDIA driver is loaded that could run it");
  }
  return judgeBuild(build, driver.value);
}
