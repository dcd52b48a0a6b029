#!/usr/bin/env bash
# dpbench on this machine's GPUs: every strategy and element type with both MPI libraries, on 2 and 4 ranks, without
# and with CUDA IPC, direct against staged, all checked. It needs no network and leaves nothing but its results.
#
#     tests/gpu/carry.sh     where there is a network; then bring the checkout, with its .gpu, to the GPU
#     tests/gpu/run.sh       there: less than 8 minutes; the results are in $OUT, else in gpu-results
#
# The exit code is 0 if every result was right and every job ended well. Variables, to run a part or elsewhere:
# GPU_PYTHON     the Python that has CuPy, NumPy and pip (python3)
# GPU_CARRIED    what carry.sh made (.gpu)
# GPU_UCX        UCX's libraries, where GPU_PYTHON has the MPI library of GPU_MPIS and all else: nothing is installed
# GPU_MPIS, GPU_RANKS, GPU_TRANSPORTS, GPU_SIZES, GPU_TYPE_SIZE     what is measured, as below
# GPU_TIME, GPU_LIMIT, GPU_BUDGET     seconds: sampling of one case, most for one job, most for everything
set -euo pipefail
shopt -s nullglob

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/tests/gpu
python=${GPU_PYTHON:-python3}
carried=${GPU_CARRIED:-$root/.gpu}
read -ra mpis <<<"${GPU_MPIS:-openmpi mpich}"
read -ra rank_numbers <<<"${GPU_RANKS:-2 4}"
read -ra transports <<<"${GPU_TRANSPORTS:-cuda_copy cuda_ipc}"
sizes=${GPU_SIZES:-4,64,1K,16K,256K,4M,64M,256M}
type_size=${GPU_TYPE_SIZE:-1M}
seconds=${GPU_TIME:-0.1}
limit=${GPU_LIMIT:-60}
budget=${GPU_BUDGET:-450}

out=${OUT:-gpu-results}
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/{openmpi,mpich}-*.csv "$out"/{jobs.csv,log.txt,report.txt}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Not into a virtual environment: CuPy looks for CUDA's libraries in the environment of the Python that has them.
install() { # install MPI: what was carried, for $python with a PYTHONPATH
  "$python" -m pip install --quiet --no-index --no-deps --ignore-installed --no-compile --no-warn-script-location \
    --prefix "$scratch/$1" --find-links "$carried/wheels" "$1" \
    mpi4py click rich markdown-it-py mdurl pygments ml_dtypes
}

if [[ -z ${GPU_UCX:-} ]]; then
  [[ -d $carried/wheels ]] || { echo "run.sh: no wheels in '$carried'; carry.sh brings them" >&2; exit 3; }
  for mpi in "${mpis[@]}"; do install "$mpi"; done
fi

# UCX with CUDA in the place of the libraries' own, for all messages: what makes the plain wheels take device pointers.
export LD_LIBRARY_PATH=${GPU_UCX:-$carried/ucx/libucx/lib}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export UCX_MEMTYPE_CACHE=n
export OMPI_MCA_pml=ucx OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any
export MPIR_CVAR_CH4_NETMOD=ucx MPIR_CVAR_NOLOCAL=1
modules=$root${PYTHONPATH:+:$PYTHONPATH}
export CUPY_CACHE_DIR=$scratch/cupy

use() { # use MPI: make $python find what was installed with it, whatever it has itself
  local at=$scratch/$1
  PYTHONPATH=$(printf '%s:' "$at"/{,local/}lib/python*/*-packages)$modules
  export PYTHONPATH
  [[ ! -d $at ]] || export MPI4PY_LIBMPI=$at/lib:$at/local/lib
}

# One job, which may fail, under its limit. If no time is left it is not run and has no exit code.
job() { # job PART PROGRAM...
  local part=$1 begun=$SECONDS left=$((budget - SECONDS)) code=0
  shift
  ((left < limit)) || left=$limit
  echo "$mpi, $transport, $ranks ranks: $part"
  if ((left > 0)); then
    echo "# $mpi, $transport, $ranks ranks: $*" >>"$out/log.txt"
    timeout --kill-after=5 "$left" "$python" "$@" </dev/null >>"$out/log.txt" 2>&1 || code=$?
  else
    code=
  fi
  echo "$mpi,$transport,$ranks,$part,$code,$((SECONDS - begun))" >>"$out/jobs.csv"
}

use "${mpis[0]}"
"$python" "$here/machine.py" | tee "$out/report.txt"
echo "mpi,transport,ranks,part,exit_code,seconds" >"$out/jobs.csv"
for ranks in "${rank_numbers[@]}"; do
  for mpi in "${mpis[@]}"; do
    use "$mpi"
    for transport in "${transports[@]}"; do
      export UCX_TLS=self,sm,cuda_copy
      [[ $transport == cuda_copy ]] || UCX_TLS+=,$transport
      options=(--device "cuda,cuda-staged" --csv "$out/$mpi-$transport.csv" --append)
      UCX_PROTO_INFO=y job types "$here/alltypes.py" "$ranks" "${options[@]}" --sizes "$type_size" --iters 6 --warmup 1
      job sweep -m dpbench --ranks "$ranks" "${options[@]}" --sizes "$sizes" --max-time "$seconds"
    done
  done
done
"$python" "$here/report.py" "$out" | tee -a "$out/report.txt"
