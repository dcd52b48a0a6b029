# shellcheck shell=bash disable=SC2034
# The part of the job scripts that differs from site to site: edit it here, once. launch.sh sources it in the job,
# on the first node; what it exports reaches all ranks. $jobs is this folder.

# MPI, launcher and network. mpirun starts the ranks if there is one; srun needs the --mpi that the library speaks.
#
# Open MPI
# module load gcc openmpi
# LAUNCHER=${LAUNCHER:-srun} SRUN_MPI=${SRUN_MPI:-pmix}   # without them mpirun, which its authors recommend
# export OMPI_MCA_pml=ucx UCX_NET_DEVICES=mlx5_0:1
#
# MPICH
# module load gcc mpich
# LAUNCHER=${LAUNCHER:-srun} SRUN_MPI=${SRUN_MPI:-pmi2}
# export MPIR_CVAR_CH4_NETMOD=ucx UCX_NET_DEVICES=mlx5_0:1
#
# Cray MPICH
# module load PrgEnv-gnu cray-mpich cray-python
# LAUNCHER=${LAUNCHER:-srun} SRUN_MPI=${SRUN_MPI:-cray_shasta}
# export MPICH_OFI_NIC_POLICY=NUMA   # for gpu_sweep.sbatch also: MPICH_GPU_SUPPORT_ENABLED=1
#
# Intel MPI
# module load intel-mpi
# LAUNCHER=${LAUNCHER:-srun} SRUN_MPI=${SRUN_MPI:-pmi2}
# export I_MPI_PMI_LIBRARY=/usr/lib64/libpmi2.so I_MPI_FABRICS=shm:ofi FI_PROVIDER=mlx

# Python: a virtual environment in which dpbench and mpi4py are installed.
venv=${DPBENCH_VENV:-$jobs/../.venv}
if [[ -d $venv ]]; then
  PATH=$venv/bin:$PATH
elif [[ -n ${DPBENCH_VENV:-} ]]; then
  fail "DPBENCH_VENV='$venv' is not there; name a virtual environment that has dpbench"
fi

# The command that each rank runs.
dpbench=(python3 -m dpbench)
# dpbench=(apptainer exec "$HOME/dpbench.sif" python3 -m dpbench)

# More options for the launchers.
srun_options=()   # --cpu-bind=cores
mpirun_options=() # Open MPI: --bind-to core, with --cpus-per-task also --map-by "slot:PE=$SLURM_CPUS_PER_TASK"
