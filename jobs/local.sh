#!/usr/bin/env bash
# The sweep on this machine alone, without Slurm: RANKS ranks, with the variables and the results of the jobs.
# Options of dpbench can follow: jobs/local.sh --iters 100

jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
local_job=local-$(date +%Y%m%d-%H%M%S)
# shellcheck source=jobs/launch.sh
. "$jobs/launch.sh"

launch() {
  "$@" --ranks "${RANKS:-4}"
}

measure "$@" 2>&1 | tee -i "$results/log.txt"
