/**
 * The rules of this house that a machine can see, on the syntax tree: a pattern over text takes prose for code.
 * `deno lint` loads this. An exception is written `// deno-lint-ignore house/<rule>` with its reason.
 */
import { ROOT } from "./toolchain.ts";

const MAX_LINES = 300;
const MAX_LINES_OF_TESTS = 500;
/** Layers that read no clock and draw no random number, as `layers.ts` has them. */
const PURE = ["lib/core/", "lib/model/", "lib/analysis/", "lib/render/"];
/** The edges that may know the process they run in: its environment, its arguments, its end. The helper and a simulated job are programs. */
const EDGES = ["mod.ts", "lib/world/", "lib/source/sim/", "lib/source/helper/"];
/** Where a cast is the point: the constructors of branded types, and the foreign functions. */
const MAY_CAST = ["lib/core/ids.ts", "lib/core/units.ts", "lib/native/"];
const FFI = "lib/native/dlopen.ts";
const DRAWERS = /(?:^|_)(?:utils?|common|misc|manager|v\d+)\.ts$/;
const OUTPUTS = ["stdout", "stderr"];

const isProduct = (path: string) => /^(?:lib\/|commands\/|mod\.ts$)/.test(path);
const isScript = (path: string) => path.startsWith("scripts/");
const isTest = (path: string) => path.endsWith("_test.ts");
const isIn = (places: readonly string[]) => (path: string) => places.some((place) => path.startsWith(place));

type Visitor = (
  report: (node: Deno.lint.Node, message: string, hint?: string) => void,
) => Deno.lint.LintVisitor;

/** A rule for the files whose path from the root `applies` accepts. */
function rule(applies: (path: string) => boolean, visitor: Visitor): Deno.lint.Rule {
  return {
    create(context) {
      const path = context.filename.replace(ROOT, "");
      if (!applies(path)) return {};
      return visitor((node, message, hint) => context.report({ node, message, ...hint && { hint } }));
    },
  };
}

const fileLength: Deno.lint.Rule = {
  create(context) {
    const path = context.filename.replace(ROOT, "");
    const lines = context.sourceCode.text.split("\n").length - 1;
    const most = path.startsWith("tests/") ? MAX_LINES_OF_TESTS : MAX_LINES;
    if (lines <= most) return {};
    return {
      Program(node) {
        const message = `${lines} lines; a file here has at most ${most}`;
        context.report({ node, message, hint: "Split it by what it is named for" });
      },
    };
  },
};

const fileName: Deno.lint.Rule = {
  create(context) {
    const name = context.filename.slice(context.filename.lastIndexOf("/") + 1);
    return {
      Program(node) {
        if (!/^[a-z0-9_]+(?:\.d)?\.ts$/.test(name)) {
          context.report({ node, message: `${name} is not snake_case` });
        }
        if (DRAWERS.test(name)) {
          context.report({ node, message: `${name} is a drawer: name it for one thing` });
        }
      },
    };
  },
};

/** Bun takes 16 ms for the first touch of either stream, and cuts what was written when the program exits. */
const noStreams = rule(
  () => true,
  (report) => ({
    MemberExpression(node) {
      if (isNamed(node.object, "process") && OUTPUTS.includes(nameOf(node.property) ?? "")) {
        report(
          node,
          `process.${nameOf(node.property)} is slow to touch and loses output at exit`,
          "Use fs.writeSync",
        );
      }
    },
    ImportSpecifier(node) {
      const from = node.parent.type === "ImportDeclaration" ? node.parent.source.value : "";
      if (from === "node:process" && OUTPUTS.includes(nameOf(node.imported) ?? "")) {
        report(
          node,
          `process.${nameOf(node.imported)} is slow to touch and loses output at exit`,
          "Use fs.writeSync",
        );
      }
    },
  }),
);

/** Deno's own `no-process-global` sees to the global of that name; in this house `process` is also one of those judged. */
const processAtTheEdge = rule(
  (path) => isProduct(path) && !isIn(EDGES)(path),
  (report) => ({
    ImportDeclaration(node) {
      if (node.source.value === "node:process") {
        report(node, "node:process belongs to mod.ts and lib/world", "Take a port");
      }
    },
  }),
);

/** `Deno` and `Bun` differ; only `node:` modules and the FFI file may touch the system. */
const noRuntimeGlobals = rule(
  (path) => isProduct(path) && path !== FFI,
  (report) => ({
    MemberExpression(node) {
      for (const runtime of ["Deno", "Bun"]) {
        if (isNamed(node.object, runtime)) {
          report(node, `${runtime} is not there under the other runtime`, "Use a node: module");
        }
      }
    },
  }),
);

const noClockInPureCode = rule(isIn(PURE), (report) => ({
  MemberExpression(node) {
    const call = `${nameOf(node.object)}.${nameOf(node.property)}`;
    if (
      ["Date.now", "performance.now", "Math.random", "crypto.randomUUID", "crypto.getRandomValues"].includes(
        call,
      )
    ) {
      report(
        node,
        `${call} in a pure layer: equal input must give equal output`,
        "Take the value as an argument",
      );
    }
  },
  NewExpression(node) {
    if (isNamed(node.callee, "Date") && node.arguments.length === 0) {
      report(
        node,
        "new Date() in a pure layer: equal input must give equal output",
        "Take the value as an argument",
      );
    }
  },
  CallExpression(node) {
    const name = nameOf(node.callee) ?? "";
    if (["setTimeout", "setInterval", "fetch"].includes(name)) report(node, `${name} in a pure layer`);
  },
}));

/** With a bare name bun:ffi falls back to the current directory and runs whatever library lies there. */
const absoluteLibrary = rule(
  (path) => !isTest(path),
  (report) => ({
    CallExpression(node) {
      const callee = node.callee.type === "MemberExpression" ? node.callee.property : node.callee;
      const first = node.arguments[0];
      if (!["dlopen", "openLibrary"].includes(nameOf(callee) ?? "") || first?.type !== "Literal") return;
      if (typeof first.value === "string" && !first.value.startsWith("/")) {
        report(
          first,
          `"${first.value}" may be found in the current directory`,
          "Give an absolute path from a fixed list",
        );
      }
    },
  }),
);

const noCast = rule(
  (path) => (isProduct(path) || isScript(path)) && !isIn(MAY_CAST)(path),
  (report) => ({
    TSAsExpression(node) {
      const { typeAnnotation: type } = node;
      if (type.type === "TSTypeReference" && nameOf(type.typeName) === "const") return;
      report(node, "a cast is a claim that nobody checks", "Narrow the value, or use its constructor");
    },
  }),
);

const noOnly = rule(isTest, (report) => ({
  MemberExpression(node) {
    const subject = nameOf(node.object) ?? "";
    if (["test", "it", "describe", "suite"].includes(subject) && nameOf(node.property) === "only") {
      report(node, `${subject}.only leaves every other test out`);
    }
  },
}));

const noSleepInTests = rule(isTest, (report) => ({
  CallExpression(node) {
    if (nameOf(node.callee) === "setTimeout") {
      report(node, "a fixed sleep proves nothing", "Use until() of tests/support");
    }
  },
  ImportDeclaration(node) {
    if (node.source.value === "node:timers/promises") {
      report(node, "a fixed sleep proves nothing", "Use until() of tests/support");
    }
  },
}));

function isNamed(node: Deno.lint.Node, name: string): boolean {
  return nameOf(node) === name;
}

function nameOf(node: Deno.lint.Node): string | undefined {
  return node.type === "Identifier" ? node.name : undefined;
}

export default {
  name: "house",
  rules: {
    "file-length": fileLength,
    "file-name": fileName,
    "no-streams": noStreams,
    "process-at-the-edge": processAtTheEdge,
    "no-runtime-globals": noRuntimeGlobals,
    "no-clock-in-pure-code": noClockInPureCode,
    "absolute-library": absoluteLibrary,
    "no-cast": noCast,
    "no-only": noOnly,
    "no-sleep-in-tests": noSleepInTests,
  },
} satisfies Deno.lint.Plugin;
