import { test } from "node:test";
import assert from "node:assert/strict";
import { COLOUR, PLAIN } from "../../../lib/render/colour.ts";
import { type Column, renderTable } from "../../../lib/render/table.ts";

interface Job {
  readonly pid: number;
  readonly user: string;
  readonly command: string;
}

const COLUMNS: readonly Column<Job>[] = [
  { title: "PID", align: "right", cell: ({ pid }) => String(pid) },
  {
    title: "USER",
    align: "left",
    cell: ({ user }) => user,
    tone: ({ user }) => user === "root" ? "red" : "plain",
  },
  { title: "COMMAND", align: "left", cell: ({ command }) => command, isCutFirst: true },
];
const JOBS: readonly Job[] = [
  { pid: 7, user: "alice", command: "python train.py --epochs 90" },
  { pid: 4123, user: "訓練", command: "" },
  { pid: 12, user: "root", command: "sh" },
];

test("renderTable() lines columns up by what a terminal shows, and leaves no blanks at line ends", () => {
  assert.equal(
    renderTable(JOBS, COLUMNS),
    ` PID  USER   COMMAND
   7  alice  python train.py --epochs 90
4123  訓練
  12  root   sh
`,
  );
});

test("renderTable() cuts the column that is cut first, and others only when that is not enough", () => {
  assert.equal(
    renderTable(JOBS, COLUMNS, { width: 28, paint: PLAIN }),
    ` PID  USER   COMMAND
   7  alice  python train.p…
4123  訓練
  12  root   sh
`,
  );
  const long = [{ pid: 7, user: "a-very-long-name-of-a-user", command: "python train.py" }];
  assert.equal(
    renderTable(long, COLUMNS, { width: 27, paint: PLAIN }),
    `PID  USER          COMMAND
  7  a-very-long…  python …
`,
  );
});

test("renderTable() never cuts a number, however narrow the terminal", () => {
  assert.equal(
    renderTable([{ pid: 4_194_304, user: "alice", command: "python train.py" }], COLUMNS, {
      width: 1,
      paint: PLAIN,
    }),
    `    PID  USER   COMMAND
4194304  alice  python …
`,
  );
});

test("renderTable() shows what a cell would do to the terminal instead of doing it", () => {
  assert.equal(
    renderTable([{ pid: 1, user: "eve\x1b[2J", command: "a\nb" }], COLUMNS),
    `PID  USER          COMMAND
  1  eve\\u{1b}[2J  a\\u{a}b
`,
  );
});

test("renderTable() paints outside of the blanks, so that columns stay in line", () => {
  assert.equal(
    renderTable(JOBS.slice(1), COLUMNS, { width: undefined, paint: COLOUR }),
    ` \x1b[1mPID\x1b[0m  \x1b[1mUSER\x1b[0m  \x1b[1mCOMMAND\x1b[0m
4123  訓練
  12  \x1b[31mroot\x1b[0m  sh
`,
  );
});

test("renderTable() of no rows is its header", () => {
  assert.equal(renderTable([], COLUMNS), "PID  USER  COMMAND\n");
});
