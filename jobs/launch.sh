# shellcheck shell=bash
# What the job scripts share: sourced by them once $jobs names this folder. Afterwards there is
#   dpbench   the command that each rank runs, an array (from site.sh)
#   results   the job's own folder
#   launch    starts a command on all ranks of the job and returns its exit code

: "${jobs:?}"

fail() {
  echo "dpbench job: $*" >&2
  exit 3
}

[[ -n ${SLURM_JOB_ID:-} ]] || fail "this is no Slurm job; submit the script with sbatch"

# shellcheck source=jobs/site.sh
. "$jobs/site.sh"
set -euo pipefail # not before: modules and environments rarely bear it

export SLURM_EXPORT_ENV=ALL # srun would pass on what was exported to the job, without what site.sh adds
results=${RESULTS:-$SLURM_SUBMIT_DIR/results/dpbench-$SLURM_JOB_ID}
mkdir -p "$results" || fail "the folder '$results' cannot be made; set RESULTS to one on a file system of all nodes"

# mpirun finds the ranks' MPI by itself; srun needs to speak its language, so it is used where that is named.
if [[ -z ${LAUNCHER:-} ]]; then
  LAUNCHER=srun
  [[ -n ${SRUN_MPI:-} ]] || ! command -v mpirun >/dev/null || LAUNCHER=mpirun
fi

launch() {
  echo "job $SLURM_JOB_ID: $SLURM_NTASKS ranks with $LAUNCHER on $SLURM_JOB_NODELIST, results in $results"
  case $LAUNCHER in
    mpirun) mpirun -n "$SLURM_NTASKS" "${mpirun_options[@]}" "$@" ;;
    srun) launch_with_srun "$@" ;;
    *) fail "LAUNCHER='$LAUNCHER' is neither srun nor mpirun" ;;
  esac
}

# Since Slurm 22.05 srun does not take over the job's --cpus-per-task by itself: ranks would share a core.
launch_with_srun() {
  local failed=$results/failed code=0
  rm -f "$failed"
  srun --kill-on-bad-exit=1 ${SRUN_MPI:+"--mpi=$SRUN_MPI"} \
    ${SLURM_CPUS_PER_TASK:+"--cpus-per-task=$SLURM_CPUS_PER_TASK"} "${srun_options[@]}" \
    bash "$jobs/rank.sh" "$failed" "$@" || code=$?
  [[ ! -s $failed ]] || read -r code <"$failed"
  return "$code"
}

"${dpbench[@]}" --version || fail "'${dpbench[*]}' does not run; mend $jobs/site.sh"
