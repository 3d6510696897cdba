import assert from "node:assert/strict";
import { test } from "node:test";
import { readProgramHelp } from "../../scripts/program_help.ts";
import { findMistakes } from "../../scripts/readme_rules.ts";
import { splitCommands } from "../../scripts/shell_words.ts";

/** As commander prints it. */
const HELP: Readonly<Record<string, string>> = {
  "": `Usage: gpuctl [options] [command]

Options:
  -V, --version            output the version number
  --source <source>        where to look: nvml, nvidia-smi, sim:DIR or a file
  -h, --help               display help for command

Commands:
  diff|diff-before-after [options] [command...]  look, run, look again
  sim                      a simulated server
  help [command]           display help for command
`,
  diff: `Usage: gpuctl diff [options] [command...]

Options:
  --settle <duration>  how long to wait (default: "10s")
  -o, --output <file>  write the report here
  --no-leak-check      look only
`,
  sim: `Usage: gpuctl sim [options] [command]

Commands:
  init [options] <dir>  make one
`,
  "sim init": `Usage: gpuctl sim init [options] <dir>

Options:
  --gpus <number>  how many GPUs
`,
};
const TRUTH = {
  exitStatuses: { ok: 0, finding: 10 },
  help: readProgramHelp((path) => HELP[path.join(" ")] ?? assert.fail(`no help for ${path.join(" ")}`)),
  tasks: ["demo", "test"],
};
const STATUSES = `## Exit status

| code | name | meaning |
| ---- | ---- | ------- |
| 0 | \`ok\` | done |
| 10 | finding | the answer is bad |
`;

function mistakesIn(script: string, prose = ""): string[] {
  return findMistakes(`# gpuctl\n\n\`\`\`sh\n${script}\n\`\`\`\n${prose}\n${STATUSES}`, TRUTH);
}

test("findMistakes() accepts what the program has", () => {
  const script = [
    "npx -y deno@2.9.6 task demo",
    "# gpuctl nonsense",
    "sudo gpuctl --source sim:/tmp/a diff --settle=3s -o report.json \\",
    "  -- python job.py --not-ours 2>/dev/null | head -1",
    "GPUCTL_SOURCE=sim:x gpuctl diff-before-after --no-leak-check -- true && gpuctl sim init --gpus 2 DIR",
  ].join("\n");
  assert.deepEqual(mistakesIn(script, "Use `--settle`, or `gpuctl COMMAND --help`."), []);
});

test("findMistakes() names commands, flags and tasks that are not there, with their line", () => {
  const script = "gpuctl snapshoot\ngpuctl diff --settel 3s -- true\ngpuctl sim init --bytes 2 DIR";
  assert.deepEqual(mistakesIn(script, "Then `--nothing`, and `npx -y deno@2.9.6 task tets`."), [
    "README.md:4: gpuctl has no command snapshoot",
    "README.md:4: gpuctl diff has no --settel",
    "README.md:4: gpuctl sim init has no --bytes",
    "README.md:8: deno.json has no task tets",
    "README.md:8: no command has --nothing",
  ]);
});

test("findMistakes() reads only what is typed in a block with prompts", () => {
  assert.deepEqual(mistakesIn("$ gpuctl sim init a\ngpuctl printed this\n$ gpuctl wrong"), [
    "README.md:4: gpuctl has no command wrong",
  ]);
});

test("findMistakes() leaves blocks alone that are not marked sh", () => {
  assert.deepEqual(mistakesIn("gpuctl sim init a", "```text\ngpuctl is a word here\n```"), []);
});

test("findMistakes() says which part is missing", () => {
  assert.deepEqual(findMistakes("# gpuctl\n", TRUTH), [
    "README.md has no example: expected a fenced sh block with a line that starts with gpuctl",
    'README.md has no table under a heading with "exit status": expected | code | name | meaning |',
  ]);
});

test("findMistakes() holds the exit statuses against the program's", () => {
  const readme = `\`\`\`sh\ngpuctl diff\n\`\`\`\n${
    STATUSES.replace("| 10 | finding", "| 11 | finding")
  }| 12 | odd | |\n`;
  assert.deepEqual(findMistakes(readme, TRUTH), [
    "README.md: exit status 11 is not called finding",
    "README.md: exit status 12 is not called odd",
  ]);
  assert.deepEqual(
    findMistakes(`\`\`\`sh\ngpuctl diff\n\`\`\`\n${STATUSES.replace(/\| 10.*\n/, "")}`, TRUTH),
    [
      "README.md: exit status 10 (finding) is not in the table",
    ],
  );
});

test("splitCommands() reads words as a shell does", () => {
  assert.deepEqual(splitCommands(`A=1 run 'a b' "c \\"d\\"" e\\ f g#h >out 2>&1; next x=1 # no\n(last)`), [
    ["run", "a b", 'c "d"', "e f", "g#h"],
    ["next", "x=1"],
    ["last"],
  ]);
});

test("splitCommands() refuses a quote that stays open", () => {
  assert.throws(() => splitCommands("it's"), { message: `Cannot read "it's": a quote stays open at 's` });
});

test("readProgramHelp() stops at a program that answers every command with the same help", () => {
  assert.throws(() => readProgramHelp(() => "Commands:\n  again  and again\n"), {
    message: "Cannot read the help: again again again again again has commands without end",
  });
});
