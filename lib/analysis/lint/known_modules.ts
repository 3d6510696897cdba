/**
 * What importing a module means for CUDA. "loads" brings a framework in without starting CUDA; "reads" starts CUDA, so
 * CUDA_VISIBLE_DEVICES is read; "may-read" does so in some versions or set-ups; "plain" has nothing to do with it.
 *
 * Seen with driver 580.159.04: torch 2.11, torch_geometric 2.8, JAX 0.11, CuPy 14.2, numba, Triton 3.6, transformers
 * 5.17, Lightning 2.6, onnxruntime 1.30. Others as their authors say: deepspeed (issues 7252 and 7918), flashinfer
 * (issue 4889), cudf (utils/gpu_utils.py, validate_setup), python_vali (issue 117), pycuda.autoinit (its manual).
 */
export type ImportEffect = "plain" | "loads" | "may-read" | "reads";

const READS = words(`
  torch_geometric torch.utils.cpp_extension pycuda.autoinit pycuda.autoprimaryctx pycuda.gl.autoinit cudf
  cuml cugraph cuspatial dask_cudf python_vali PyNvCodec
`);

const MAY_READ = words(`
  apex bitsandbytes deepspeed dgl flashinfer llama_cpp megatron mxnet paddle rmm sglang theano
  torch_scatter torch_sparse unsloth vllm xformers
`);

const LOADS = words(`
  torch torchaudio torchdata torchmetrics torchrl torchtext torchvision torchtune functorch tensordict
  triton tensorflow tensorflow_addons tensorflow_datasets tensorflow_hub tensorflow_probability keras
  tf_keras jax jaxlib flax optax haiku equinox numpyro chex diffrax orbax brax cupy cupyx chainer
  numba.cuda pycuda skcuda tensorrt tensorrt_llm torch_tensorrt cuda transformers accelerate diffusers
  peft trl sentence_transformers optimum setfit pytorch_lightning lightning lightning_fabric fastai timm
  ultralytics spacy thinc flash_attn detectron2 mmcv mmengine mmdet mmseg monai onnxruntime mindspore
  oneflow gpytorch botorch e3nn nvidia.dali cucim xgboost faiss easyocr whisper faster_whisper ctranslate2
  warp taichi stable_baselines3 sb3_contrib nemo colossalai fairseq fairseq2 espnet espnet2 open_clip clip
  segment_anything allennlp skorch pyro captum ignite composer catalyst speechbrain flair stanza horovod
  fairscale bertopic auto_gptq awq exllamav2 lmdeploy outlines lm_eval
`);

const PLAIN = words(`
  numpy scipy pandas matplotlib mpl_toolkits PIL yaml tqdm requests sklearn cv2 h5py psutil wandb hydra
  omegaconf absl click fire six dotenv pydantic rich loguru joblib seaborn networkx nltk skimage imageio
  pynvml nvidia_smi py3nvml GPUtil gpustat nvitop pytest IPython ipywidgets attr attrs jsonschema tabulate
  termcolor colorama packaging setuptools pkg_resources pip typing_extensions mpi4py sympy numexpr pyarrow
  polars plotly boto3 google grpc flask fastapi uvicorn gradio streamlit aiohttp httpx toml tomli ujson
  orjson regex lxml bs4 einops sentencepiece tokenizers safetensors huggingface_hub numba ray dask
  filelock cloudpickle dill zmq redis sqlalchemy pytz dateutil mock parameterized hypothesis gym gymnasium
  optuna librosa soundfile albumentations pycocotools tensorboard docopt simplejson future past
  ml_collections tyro jsonargparse configargparse easydict munch prettytable lmdb nvidia
`);

/** Public modules of the standard library: sys.stdlib_module_names of CPython 3.11, and those of 2.7 and 3.14. */
const STANDARD = words(`
  abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64
  bdb binascii bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop
  collections colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg
  crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings
  ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc
  genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib
  imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma
  mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib
  nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools
  pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr
  pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched
  secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd
  sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess
  sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this thread
  threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo
  types typing unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound
  wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo ConfigParser Queue StringIO Tkinter
  cPickle cStringIO commands cookielib exceptions httplib md5 sets sha urllib2 urlparse
  __future__ __main__
`);

const EFFECTS: ReadonlyMap<string, ImportEffect> = new Map([
  ...effects(STANDARD, "plain"),
  ...effects(PLAIN, "plain"),
  ...effects(LOADS, "loads"),
  ...effects(MAY_READ, "may-read"),
  ...effects(READS, "reads"),
]);

/** The effect of importing a module by one of its names, `a.b` being another than `a`; `undefined` if it is not known. */
export function effectOfModule(name: string): ImportEffect | undefined {
  return EFFECTS.get(name);
}

function effects(
  names: readonly string[],
  effect: ImportEffect,
): readonly (readonly [string, ImportEffect])[] {
  return names.map((name) => [name, effect] as const);
}

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
