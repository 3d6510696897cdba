/** Saved texts of the largest machines, and hostile ones, for measuring how long they take and what they cost. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../toolchain.ts";

/** What `nvidia-smi -q -x` prints of a machine with so many GPUs and so many processes on each. */
export function largeXml(gpus: number, processes: number): string {
  const real = readFileSync(join(ROOT, "tests/fixtures/smi/idle.xml"), "utf8");
  const start = real.indexOf("\t<gpu id=");
  const end = real.indexOf("\t</gpu>") + "\t</gpu>\n".length;
  const head = real.slice(0, start).replace(/<attached_gpus>\d+</, `<attached_gpus>${gpus}<`);
  const blocks = Array.from({ length: gpus }, (_, index) => {
    const rows = Array.from({ length: processes }, (_, row) => processXml(1000 + index * processes + row));
    return real.slice(start, end)
      .replace(/<uuid>[^<]*</, `<uuid>GPU-${String(index).padStart(8, "0")}-1111-2222-3333-444444444444<`)
      .replaceAll(/\b00000000:00:06\.0/g, `00000000:${(16 + index).toString(16).toUpperCase()}:00.0`)
      .replace(/<minor_number>\d+</, `<minor_number>${index}<`)
      .replace(/<processes>\s*<\/processes>/, `<processes>\n${rows.join("")}\t\t</processes>`);
  });
  return head + blocks.join("\n") + real.slice(end);
}

function processXml(pid: number): string {
  return [
    "<process_info>",
    "\t<gpu_instance_id>N/A</gpu_instance_id>",
    "\t<compute_instance_id>N/A</compute_instance_id>",
    `\t<pid>${pid}</pid>`,
    "\t<type>C</type>",
    "\t<process_name>/opt/conda/envs/train/bin/python3</process_name>",
    "\t<used_memory>128 MiB</used_memory>",
    "</process_info>",
  ].map((line) => `\t\t\t${line}\n`).join("");
}

const MIB = 1024 ** 2;
const XML_HEAD = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log';

/** Texts just below the limits of what is read at all, and bombs; each has to be refused. */
export const HOSTILE_TEXTS: Readonly<Record<string, () => string>> = {
  "one line of 60 MiB": () => "x".repeat(60 * MIB),
  "a line of 15 MiB": () => "x".repeat(15 * MIB),
  "a million rows": () => "| a b |\n".repeat(1_000_000),
  "4 million lines": () => "a |\n".repeat(4_000_000),
  "500,000 processes": () =>
    Array.from({ length: 500_000 }, (_, pid) => `| 0 N/A N/A ${pid + 1} C a 1MiB |\n`).join(""),
  "unfinished rows": () => "|".repeat(8 * MIB),
  "digits": () => `/dev/nvidia0: ${"9".repeat(15 * MIB)}\n`,
  "nested XML": () => `${XML_HEAD}>\n<nvidia_smi_log>${"<gpu>".repeat(3 * MIB)}`,
  "an entity bomb": () =>
    `${XML_HEAD} [${
      Array.from({ length: 30 }, (_, level) => `<!ENTITY e${level + 1} "&e${level};&e${level};">`).join("")
    }]>\n<nvidia_smi_log>&e30;</nvidia_smi_log>\n`,
  "nested JSON": () => '{"a":'.repeat(10 * MIB),
  "a wide JSON": () => `{"schema":"gpuctl.snapshot/1","gpus":[${"{},".repeat(15 * MIB)}{}]}`,
};
