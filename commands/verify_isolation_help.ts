/** What `gpuctl verify-isolation --help` says around its options. */

export const USAGE = "--gpu <list> [options] -- <command...>\n" +
  "       gpuctl verify-isolation --gpu <list> --pid <list> [options]\n" +
  "       gpuctl verify-isolation [--gpu <list>] --container <id> [options]\n" +
  "       gpuctl verify-isolation [--gpu <list>] --slurm-job <id> [options]\n" +
  "       gpuctl verify-isolation --rules <file> [options]\n" +
  "       gpuctl verify-isolation --lint <file...> [options]";

export const DESCRIPTION = [
  "Runs the command and watches every GPU, not only the job's, until the last process that it started has gone. A " +
  "context of any of them on another GPU fails, with the reason that was worked out and the fix. The command gets the " +
  "terminal, its signals and its exit status as if gpuctl were not there; the report goes to standard error.",
  "What runs already is judged by --pid, by --container and the like, or the whole machine by a file of rules: by one " +
  "look, or for a while (--for), and then with all that is started meanwhile. A container or a Slurm job is held to what " +
  "it was given where that is known for sure; otherwise --gpu has to say it.",
  "What was not seen is never called isolated: a look that was not answered, a GPU whose processes are not listed, a " +
  "process that was gone before anybody could tell whose it was, an orphan that may have come from a process of --pid. " +
  "Only what a daemon starts for the command (docker, systemd-run, srun) is not known to be its own.",
  "With --lint alone nothing is run and no GPU is needed; with a command or --pid it helps to name the reason.",
].join("\n\n");

export const STATUSES = `
Rules (TOML). The first [[rule]] that is for a process decides; every key of it must fit, of a list one entry:
  [[rule]]
  user = ["alice", "stud-*"]     also: uid, group, unit, container, pod, slurm-job, cgroup; * stands for any text
  gpus = "0-1"                   or a list, UUIDs, PCI addresses, "none", "any"
  exclusive = true               nobody else may be on these GPUs
  [[rule]]
  slurm-job = "*"
  gpus = "given"                 what Slurm gave to each job, or the runtime to each container or pod
  [default]
  gpus = "none"                  for whom no rule is; "any" unless told
Displays, MPS servers and known services of root are left alone unless a rule names them.

Exit status: the command's own if it failed (128 and the signal's number if one ended it);
  0    isolated, and all of it was seen; --lint: nothing found
  10   violated; --lint: found something
  2    the command line or the rules make no sense
  3    not proven: something could not be seen; --lint: could not be decided
  124  it ran out of time (--timeout)
  125  gpuctl failed: the command was not started (a GPU that is not there, also), or the report not written
  126  the command cannot be run
  127  the command was not found

Examples:
  gpuctl verify-isolation --gpu 1 -- python train.py
  gpuctl verify-isolation --gpu 0-3 --pin -o report.txt -- torchrun train.py
  gpuctl verify-isolation --gpu none -- make test
  gpuctl verify-isolation --gpu 2 --pid 4711 --for 30s
  gpuctl verify-isolation --slurm-job 4711 --exclusive
  gpuctl verify-isolation --rules /etc/gpuctl/rules.toml --quiet
  gpuctl verify-isolation --lint train.py model.py`;
