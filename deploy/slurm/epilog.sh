#!/bin/sh
# For Epilog= of slurm.conf: ends what a job has left on its GPUs, and proves that the memory came back.
#
# Only processes in the job's own control group are ended (proctrack/cgroup), and only once no slurmstepd of it lives: no
# login, no other job of the same user. It asks no Slurm daemon anything: slurmd waits for it. Every act is on record in
# /var/log/gpuctl/audit.jsonl.
#
# Exit status; all but 0 drain the node:
#   0   nothing was left, or it was ended and its memory is back; or the job had no GPU
#   3   it cannot be told: no driver, no such GPU, or a GPU that does not say who uses it
#   5   another gpuctl was at work for all of the time that this script waits
#   6   something outlived SIGKILL, or its memory did not come back
#   10  memory is held on the job's GPUs, and nothing may be ended for it
#   others are gpuctl's own: gpuctl clean-zombies --help
#
# A cleaning takes up to a minute, and may wait as long for another one: a PrologEpilogTimeout must leave it both.
set -u
# Slurm sets none.
PATH=/usr/local/bin:/usr/bin:/bin
export PATH
# Seconds that a process has between SIGTERM and SIGKILL, and that another cleaning has to finish.
GRACE=10
WAIT=60
REFUSED=5

job=${SLURM_JOB_ID:-}
# An old Slurm names the GPUs of an ended job in the variable that the job had.
gpus=${SLURM_JOB_GPUS:-${CUDA_VISIBLE_DEVICES:-}}
[ -n "$job" ] && [ -n "$gpus" ] && [ "$gpus" != NoDevFiles ] || exit 0

# Two jobs that end together start two cleanings, and a timer may start a third: one waits for the other.
waited=0
while
  report=$(gpuctl clean-zombies --yes --slurm-job "$job" --gpu "$gpus" --min-age 0s --confirm 1s --grace "${GRACE}s" 2>&1)
  status=$?
  [ "$status" -eq "$REFUSED" ] && [ "$waited" -lt "$WAIT" ]
do
  sleep 2
  waited=$((waited + 2))
done

if [ "$status" -ne 0 ]; then
  printf 'GPU %s after job %s (status %s):\n%s\n' "$gpus" "$job" "$status" "$report" |
    logger -s -t gpuctl-epilog -p daemon.warning
fi
exit "$status"
