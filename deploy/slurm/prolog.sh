#!/bin/sh
# Gate for Prolog= of slurm.conf: no job starts on a GPU on which an earlier one has left something.
#
# It looks and ends nothing. Where it cannot tell, it refuses. It asks no Slurm daemon anything: slurmd waits for it.
#
# Exit status; all but 0 drain the node, and Slurm queues the job again:
#   0   the job's GPUs are clean, or it has none
#   3   it cannot be told: no driver, no such GPU, or a GPU that does not say who uses it
#   10  memory is held there by what an earlier job left behind
#   others are gpuctl's own: gpuctl clean-zombies --help
#
# SLURM_JOB_GPUS has the GPUs' numbers in gres.conf. They are those of the driver with AutoDetect=nvml, and with
# File=/dev/nvidia[0-7] where the device files are in the order of the bus.
set -u
# Slurm sets none.
PATH=/usr/local/bin:/usr/bin:/bin
export PATH

gpus=${SLURM_JOB_GPUS:-}
[ -n "$gpus" ] || exit 0

report=$(gpuctl clean-zombies --gpu "$gpus" --min-age 0s --confirm 1s 2>&1)
status=$?
if [ "$status" -ne 0 ]; then
  printf 'GPU %s refused to job %s (status %s):\n%s\n' "$gpus" "${SLURM_JOB_ID:-?}" "$status" "$report" |
    logger -s -t gpuctl-prolog -p daemon.warning
fi
exit "$status"
