/**
 * Which calls start CUDA, and so make it read CUDA_VISIBLE_DEVICES once and for all. Each was tried by setting the
 * variable after the call and asking cuDeviceGetCount (driver 580.159.04; torch 2.11, JAX 0.11, CuPy 14.2, numba-cuda,
 * Triton 3.6, transformers 5.17, accelerate 1.15). TensorFlow's, PyCUDA's and TensorRT's follow their documentation.
 */
import type { Call } from "./evaluate.ts";
import type { Value } from "./program.ts";

/** A call that starts CUDA, surely or in some versions or set-ups. */
export interface CudaStart {
  /** As a person would name it: `torch.cuda.is_available()`. */
  readonly what: string;
  readonly isCertain: boolean;
}

const TORCH_CUDA = words(`
  is_available current_device get_device_properties get_device_name get_device_capability init set_device
  synchronize ipc_collect mem_get_info memory_summary reset_peak_memory_stats reset_max_memory_allocated
  set_per_process_memory_fraction Stream CUDAGraph is_bf16_supported is_tf32_supported get_arch_list
  get_rng_state get_rng_state_all initial_seed current_stream default_stream stream
  is_current_stream_capturing can_device_access_peer utilization list_gpu_processes
  memory.list_gpu_processes memory._record_memory_history current_blas_handle cudart get_sync_debug_mode
  profiler.start amp.autocast amp.GradScaler FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor
  CharTensor ShortTensor IntTensor LongTensor BoolTensor
`);
const JAX = words(`
  devices local_devices device_count local_device_count default_backend process_index process_count
  device_put make_mesh
`);
const TENSORFLOW = words(`
  config.list_physical_devices config.list_logical_devices config.get_visible_devices
  config.set_visible_devices config.set_logical_device_configuration
  config.experimental.list_physical_devices config.experimental.list_logical_devices
  config.experimental.get_visible_devices config.experimental.set_visible_devices
  config.experimental.set_memory_growth config.experimental.set_virtual_device_configuration
  test.is_gpu_available test.gpu_device_name python.client.device_lib.list_local_devices Session
  InteractiveSession constant Variable zeros ones convert_to_tensor distribute.MirroredStrategy
  random.uniform random.normal
`);
const NUMBA_CUDA = words(`
  is_available current_context select_device detect device_array device_array_like to_device stream event
  synchronize close pinned_array mapped_array managed_array get_current_device
`);

const CERTAIN: ReadonlySet<string> = new Set([
  ...below("torch.cuda", TORCH_CUDA),
  ...below("jax", JAX),
  ...below("tensorflow", TENSORFLOW),
  ...below("numba.cuda", NUMBA_CUDA),
  ...below("cupy", ["array", "asarray", "zeros", "ones", "empty", "is_available", "cuda.is_available"]),
  ...below("cupy.cuda", [
    "Stream",
    "Event",
    "runtime.getDeviceCount",
    "runtime.setDevice",
    "runtime.driverGetVersion",
  ]),
  ...below("cupy.random", ["seed", "rand", "randn", "random", "uniform", "normal"]),
  // What they give starts CUDA as it is called.
  "jax.jit()",
  "jax.grad()",
  "torch.backends.cudnn.version",
  "torch.accelerator.is_available",
  "torch.nn.DataParallel",
  "torch.compile",
  "torch.profiler.profile",
  "torch.utils.collect_env.get_env_info",
  "flax.nnx.Rngs",
  "transformers.TrainingArguments",
  "transformers.utils.is_torch_bf16_gpu_available",
  "accelerate.Accelerator",
  "accelerate.PartialState",
  "triton.runtime.driver.active.get_current_device",
  "triton.testing.do_bench",
  "cuda.core.Device",
  "cuda.bindings.driver.cuInit",
  "cuda.bindings.runtime.cudaGetDeviceCount",
  "cuda.cuda.cuInit",
  "cuda.cudart.cudaGetDeviceCount",
  "pycuda.driver.init",
  "pycuda.tools.make_default_context",
]);

const POSSIBLE: ReadonlySet<string> = new Set([
  // It asks NVML instead since PyTorch 1.13 (pull request 84879), unless NVML cannot be used.
  "torch.cuda.device_count",
  "torch.nn.parallel.DistributedDataParallel",
  "transformers.pipeline",
  "transformers.Seq2SeqTrainingArguments",
  "sentence_transformers.SentenceTransformer",
  "ultralytics.YOLO",
  "onnxruntime.InferenceSession",
  "tensorrt.Runtime",
  "tensorrt.Builder",
  "vllm.LLM",
  "deepspeed.initialize",
  "deepspeed.init_distributed",
]);

/** Modules of which almost every call puts something on a device, with the calls that do not. */
const WHOLE_MODULES: readonly (readonly [string, ReadonlySet<string>, boolean])[] = [
  ["jax.numpy", new Set(words("dtype finfo iinfo issubdtype result_type promote_types shape ndim")), true],
  ["jax.random", new Set(), true],
  ["jax.lax", new Set(), true],
  ["jax.nn", new Set(["initializers"]), true],
  [
    "cupy",
    new Set(
      words(
        "asnumpy cuda random fuse get_default_memory_pool get_default_pinned_memory_pool ElementwiseKernel ReductionKernel RawKernel RawModule show_config float16 float32 float64 int8 int16 int32 int64 uint8 dtype testing prof",
      ),
    ),
    false,
  ],
];

/** Calls that start CUDA only when they are asked for a CUDA device in their first argument or in `backend`. */
const WHEN_CUDA: ReadonlySet<string> = new Set([
  "torch.autocast",
  "torch.amp.autocast",
  "torch.amp.GradScaler",
  "torch.Generator",
]);

/** Methods of tensors, modules and arrays. `backward` and the like start CUDA even for tensors on the CPU. */
const METHODS: ReadonlySet<string> = new Set(["cuda", "pin_memory", "backward"]);

/** Frameworks that come without PyTorch. With any other one, an object of which nothing is known may be a tensor. */
const WITHOUT_TORCH: ReadonlySet<string> = new Set(words(`
  tensorflow tensorflow_addons tensorflow_datasets tensorflow_hub tensorflow_probability keras tf_keras jax jaxlib
  flax optax haiku equinox numpyro chex diffrax orbax brax cupy cupyx chainer numba pycuda skcuda tensorrt cuda
  onnxruntime mindspore oneflow cudf cuml cugraph cuspatial dask_cudf rmm mxnet paddle theano xgboost faiss cucim
  nvidia warp taichi ctranslate2 llama_cpp
`));

/** The frameworks that are loaded when a call is made: they decide what a method of an unknown object can be. */
export type Loaded = Pick<ReadonlyMap<string, unknown>, "has" | "keys">;

function hasTorch(loaded: Loaded): boolean {
  return [...loaded.keys()].some((name) => !WITHOUT_TORCH.has(name));
}

/** Whether this call starts CUDA. */
export function findCudaStart(call: Call, loaded: Loaded): CudaStart | undefined {
  const name = call.callee.kind === "name" ? canonicalName(call.callee.name) : undefined;
  return (name === undefined ? undefined : findNamed(name, call)) ?? findByDevice(name, call, loaded) ??
    (name === undefined ? findMethod(call, loaded) : undefined);
}

/** The name that a TensorFlow function goes by whichever of its doors it is taken from. */
function canonicalName(name: string): string {
  for (const door of ["tensorflow.compat.v1.", "tensorflow.compat.v2."]) {
    if (name.startsWith(door)) return `tensorflow.${name.slice(door.length)}`;
  }
  return name;
}

function findNamed(name: string, call: Call): CudaStart | undefined {
  // A negative device stands for none.
  if (name === "torch.cuda.set_device" && isNegative(call.positional[0])) return undefined;
  if (CERTAIN.has(name)) return certain(`${name}()`);
  if (POSSIBLE.has(name)) return possible(`${name}()`);
  if (name === "torch.distributed.init_process_group") {
    const backend = argument(call, "backend", 0);
    return backend?.kind === "text" && backend.text.includes("nccl") ? certain(`${name}("nccl")`) : undefined;
  }
  if (WHEN_CUDA.has(name)) {
    const device = argument(call, "device_type", 0) ?? argument(call, "device", 0);
    if (device === undefined) return name === "torch.amp.GradScaler" ? certain(`${name}()`) : undefined;
    return isCudaDevice(device) ? certain(`${name}("cuda")`) : undefined;
  }
  // A signature makes numba compile at once, and so ask for the device.
  if (name === "numba.cuda.jit") {
    return call.positional[0]?.kind === "text" ? certain(`${name}("...")`) : undefined;
  }
  for (const [module, exempt, isCertain] of WHOLE_MODULES) {
    if (!name.startsWith(`${module}.`)) continue;
    const [first = ""] = name.slice(module.length + 1).split(".");
    if (exempt.has(first)) return undefined;
    return { what: `${name}()`, isCertain };
  }
  return undefined;
}

/** `device="cuda"` among the arguments. A call into torch puts something there; any other may only keep the word. */
function findByDevice(name: string | undefined, call: Call, loaded: Loaded): CudaStart | undefined {
  const device = call.keywords.find(({ key }) => key === "device")?.value;
  if (device === undefined || !isCudaDevice(device) || !hasTorch(loaded)) return undefined;
  if (call.method === "to") return certain('.to(device="cuda")');
  if (name?.startsWith("torch.") === true) return certain(`${name}(device="cuda")`);
  return possible(`${name ?? call.method ?? "a call"}(device="cuda")`);
}

function findMethod({ method, positional, receiver }: Call, loaded: Loaded): CudaStart | undefined {
  if (method === "use" && loaded.has("cupy") && receiver.kind === "unknown") {
    return possible("cupy.cuda.Device.use()");
  }
  if (method === undefined || !hasTorch(loaded) || receiver.kind === "instance") return undefined;
  if (METHODS.has(method)) return certain(`.${method}()`);
  if (method !== "to") return undefined;
  const [target] = positional;
  if (target === undefined) return undefined;
  if (isCudaDevice(target)) return certain('.to("cuda")');
  if (target.kind === "constant" && target.type === "int") return certain(`.to(${target.text})`);
  return target.kind === "unknown" ? possible(".to(...)") : undefined;
}

/** Whether a value names a CUDA device: `"cuda"`, `"cuda:1"`, torch.device("cuda"). */
function isCudaDevice(value: Value): boolean {
  if (value.kind === "device") return value.isCuda;
  return value.kind === "text" && (value.text === "cuda" || value.text.startsWith("cuda:"));
}

function isNegative(value: Value | undefined): boolean {
  return value?.kind === "constant" && value.text.startsWith("-");
}

function argument({ keywords, positional }: Call, name: string, at: number): Value | undefined {
  return keywords.find(({ key }) => key === name)?.value ?? positional[at];
}

function below(module: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `${module}.${name}`);
}

function certain(what: string): CudaStart {
  return { what, isCertain: true };
}

function possible(what: string): CudaStart {
  return { what, isCertain: false };
}

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
