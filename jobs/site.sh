# shellcheck shell=bash disable=SC2034
# The part of the job scripts that differs from site to site: edit it here, once. launch.sh sources it in the job,
# on the first node; what it exports reaches all ranks. $jobs is this folder.

# MPI: the site's, and the compiler it was made with.
# module load gcc openmpi

# Python: a virtual environment in which dpbench and mpi4py are installed; `make bench` makes .venv.
venv=${DPBENCH_VENV:-$jobs/../.venv}
if [[ -d $venv ]]; then
  PATH=$venv/bin:$PATH
elif [[ -n ${DPBENCH_VENV:-} ]]; then
  fail "DPBENCH_VENV='$venv' is not there; name a virtual environment that has dpbench"
fi

# The command that each rank runs.
dpbench=(python3 -m dpbench)
# dpbench=(apptainer exec "$HOME/dpbench.sif" python3 -m dpbench)

# How ranks start where the submission does not say: mpirun, or srun with the --mpi that the MPI library speaks.
# LAUNCHER=${LAUNCHER:-srun} SRUN_MPI=${SRUN_MPI:-pmix}   # Open MPI 5; `srun --mpi=list` has what Slurm speaks
# LAUNCHER=${LAUNCHER:-srun} SRUN_MPI=${SRUN_MPI:-pmi2}   # MPICH, Intel MPI
# LAUNCHER=${LAUNCHER:-srun} SRUN_MPI=${SRUN_MPI:-cray_shasta}   # Cray MPICH

# More options for them.
srun_options=()
mpirun_options=()

# The network.
# export UCX_NET_DEVICES=mlx5_0:1
