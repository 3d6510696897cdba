import { test } from "node:test";
import assert from "node:assert/strict";
import { explainVisibleDevices, nameDevice } from "../../../lib/analysis/explain_visible_devices.ts";
import { parseVisibleDevices } from "../../../lib/analysis/visible_devices.ts";
import { A, B, gpu, machine, MIG_A, migGpu } from "./visible_devices_machine.ts";

function explain(value: string | undefined, on = machine()): readonly string[] {
  return explainVisibleDevices(parseVisibleDevices(value, on), on);
}

test("explainVisibleDevices() tells what each entry does and what the process gets", () => {
  assert.deepEqual(explain("1x,0"), [
    '"1x" names GPU 1; CUDA ignores "x" behind it',
    '"0" names GPU 0',
    "The process gets GPU 1 as its device 0, then GPU 0",
  ]);
});

test("explainVisibleDevices() says that a blank separates nothing", () => {
  assert.deepEqual(explain("0 1"), [
    '"0 1" names GPU 0; CUDA ignores " 1" behind it; only a comma separates entries',
    "The process gets GPU 0 as its device 0",
  ]);
});

test("explainVisibleDevices() says why the list ends", () => {
  const ends: readonly (readonly [string | undefined, string])[] = [
    [undefined, "CUDA_VISIBLE_DEVICES is not set, so CUDA shows every GPU"],
    ["", "CUDA_VISIBLE_DEVICES is set to nothing, which hides every GPU"],
    ["7", 'The list ends at "7", and what follows is not read: this machine has 2 GPUs, counted from 0'],
    ["-1", 'The list ends at "-1", and what follows is not read: a negative number means "no more"'],
    ["NoDevFiles", 'The list ends at "NoDevFiles", and what follows is not read: NoDevFiles means "no GPU"'],
    [",1", "The list ends at an empty entry, and what follows is not read"],
    [
      "cuda:0",
      'The list ends at "cuda:0", and what follows is not read: it is neither a number nor a UUID that begins with GPU- or MIG-',
    ],
    [
      "GPU-",
      'The list ends at "GPU-", and what follows is not read: GPU- or MIG- needs the digits of a UUID behind it',
    ],
    [
      "GPU-ee",
      'The list ends at "GPU-ee", and what follows is not read: no GPU here has a UUID that begins so',
    ],
    [
      "x".repeat(3000),
      "CUDA_VISIBLE_DEVICES is longer than the 2624 bytes that CUDA reads, so CUDA ignores it and shows every GPU",
    ],
  ];
  for (const [value, sentence] of ends) assert.equal(explain(value)[0], sentence);
});

test("explainVisibleDevices() says that mixed forms end the list and that a GPU named twice spoils it", () => {
  assert.deepEqual(explain(`${A},1`), [
    `"${A}" names GPU 0`,
    'The list ends at "1", and what follows is not read: numbers and UUIDs do not mix, and the first entry decides',
    "The process gets GPU 0 as its device 0",
  ]);
  assert.deepEqual(explain("1,1"), [
    '"1" names GPU 1',
    '"1" names a GPU that the list has already; CUDA then refuses the whole list',
    "The process gets no GPU: CUDA fails with CUDA_ERROR_INVALID_DEVICE",
  ]);
  assert.deepEqual(explain("1", machine(undefined, { deviceOrder: "pci" })), [
    'CUDA_DEVICE_ORDER is "pci"; CUDA knows only PCI_BUS_ID and FASTEST_FIRST, and fails',
    "The process gets no GPU: CUDA fails with CUDA_ERROR_INVALID_DEVICE",
  ]);
});

test("explainVisibleDevices() says what makes the answer uncertain", () => {
  assert.deepEqual(explain("0", machine([gpu(0, A), gpu(1, B, "NVIDIA T400")])), [
    '"0" names GPU 0',
    "The process gets GPU 0 as its device 0",
    "The models differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID, so CUDA counts from the GPU that it takes for the fastest: which GPU a number names is not certain",
  ]);
});

test("explainVisibleDevices() shows hostile text instead of passing it to the terminal, and cuts it", () => {
  assert.equal(
    explain(`\u001b[2J${"x".repeat(100)}`)[0],
    `The list ends at "\\u{1b}[2J${
      "x".repeat(55)
    }…", and what follows is not read: it is neither a number nor a UUID that begins with GPU- or MIG-`,
  );
});

test("nameDevice() names a MIG device with its GPU, and an unlisted GPU by its UUID", () => {
  const on = machine([migGpu(0, A, [MIG_A])]);
  assert.equal(nameDevice({ gpu: A, mig: MIG_A }, on), `${MIG_A} on GPU 0`);
  assert.equal(nameDevice({ gpu: B }, on), B);
});
