# shellcheck shell=bash
# What the job scripts share: sourced by them once $jobs names this folder. Afterwards there is
#   dpbench   the command that each rank runs, an array (from site.sh)
#   results   the job's own folder
#   measure   runs `dpbench run` on all ranks with the values given at submission and with its arguments, and returns
#             the exit code

: "${jobs:?}"

fail() {
  echo "dpbench job: $*" >&2
  exit 3
}

# Until the measurement, which has a trap of its own.
[[ -n ${local_job:-} ]] || trap 'echo "dpbench job: stopped before anything was measured; does it have too little time (-t)?" >&2; exit 138' USR1

[[ -n ${SLURM_JOB_ID:-}${local_job:-} ]] || fail "this is no Slurm job; submit the script with sbatch, or run local.sh"
[[ -n ${SLURM_NTASKS:-}${local_job:-} ]] || fail "Slurm gives no number of ranks; ask for some with --ntasks-per-node"

[[ -f $jobs/site.sh ]] || fail "no site.sh in '$jobs': copy it there from a fresh clone of dpbench, and edit it"
# shellcheck source=jobs/site.sh
. "$jobs/site.sh"
set -euo pipefail # not before: modules and environments rarely bear it

export SLURM_EXPORT_ENV=ALL # srun would pass on what was exported to the job, without what site.sh adds
results=${RESULTS:-$PWD/results}/${local_job:-$SLURM_JOB_NAME-$SLURM_JOB_ID}
mkdir -p "$results" || fail "the folder '$results' cannot be made; set RESULTS to one on a file system of all nodes"

# Slurm's log, where it is a file. A link has all of it, also of a job that is killed.
log=$(readlink "/proc/$$/fd/1") || log=
if [[ -z ${local_job:-} && -f $log ]]; then
  ln -f "$log" "$results/log.txt" 2>/dev/null || ln -sf "$log" "$results/log.txt"
fi

"${dpbench[@]}" env >"$results/env.txt" || fail "'${dpbench[*]} env' fails, see $results/env.txt; mend $jobs/site.sh"

# mpirun finds the ranks' MPI by itself; srun needs to speak its language, so it is used where that is named.
if [[ -z ${LAUNCHER:-} ]]; then
  LAUNCHER=srun
  [[ -n ${SRUN_MPI:-} ]] || ! command -v mpirun >/dev/null || LAUNCHER=mpirun
fi

# Print the words of a value, which commas or blanks part, with commas.
list() {
  local words IFS=' ,'
  read -ra words <<<"$1"
  IFS=,
  echo "${words[*]}"
}

measure() {
  local options=(--csv "$results/rows.csv" --json "$results/rows.json")
  [[ -z ${SIZES:-} ]] || options+=(--sizes "$(list "$SIZES")")
  [[ -z ${STRATEGIES:-} ]] || options+=(--strategy "$(list "$STRATEGIES")")
  [[ -z ${DTYPE:-} ]] || options+=(--dtype "$DTYPE")
  echo "$(date -u +%FT%TZ) results in $results"
  launch "${dpbench[@]}" run "${options[@]}" "$@"
}

# Start a command on all ranks of the job and return its exit code.
launch() {
  local code=0 failed=$results/failed
  local by_mpirun=(mpirun -n "$SLURM_NTASKS" "${mpirun_options[@]}")
  # Since Slurm 22.05 srun does not take over the job's --cpus-per-task by itself: ranks would share a core.
  local by_srun=(srun --kill-on-bad-exit=1 ${SRUN_MPI:+"--mpi=$SRUN_MPI"}
    ${SLURM_CPUS_PER_TASK:+"--cpus-per-task=$SLURM_CPUS_PER_TASK"} "${srun_options[@]}" bash "$jobs/rank.sh" "$failed")

  echo "job $SLURM_JOB_ID: $SLURM_NTASKS ranks with $LAUNCHER on $SLURM_JOB_NODELIST"
  case $LAUNCHER in
    mpirun) attend "${by_mpirun[@]}" "$@" || code=$? ;;
    srun) attend "${by_srun[@]}" "$@" || code=$? ;;
    *) fail "LAUNCHER='$LAUNCHER' is neither srun nor mpirun" ;;
  esac
  if [[ -s $failed ]]; then
    read -r code <"$failed"
    rm "$failed"
  fi
  return "$code"
}

# Run a command and return its exit code. Slurm's warning before the time limit (#SBATCH --signal) reaches this shell
# only, so it is passed on: dpbench then writes what it has and stops. A shell attends to signals only if it waits for
# a background job, and then has to wait anew.
attend() {
  local code pid again=yes
  "$@" &
  pid=$!
  trap 'again=yes; kill -USR1 "$pid" || :' USR1
  trap 'again=yes; kill -TERM "$pid" || :' TERM
  while [[ -n $again ]]; do
    again='' code=0
    wait "$pid" || code=$?
  done
  trap - USR1 TERM
  return "$code"
}
