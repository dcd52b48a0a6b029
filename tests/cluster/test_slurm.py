import os
from contextlib import suppress
from pathlib import Path

from launcher import MARK, survivors
from slurm import Slurm, program, until


def users_of(folder):
    """The processes that work in the folder or hold a file of it, be it deleted by now."""
    users = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            links = [process / "cwd", *(process / "fd").iterdir()]
            if any(str(folder) in os.readlink(link) for link in links):
                users.add(int(process.name))
    return users


def test_a_cluster_leaves_neither_process_nor_file_whatever_happens(tmp_path):
    script = tmp_path / "sleep"
    script.write_text("#!/bin/sh\nexec srun sh -c 'touch rank-$SLURM_PROCID; exec sleep 600'\n")
    with suppress(KeyboardInterrupt), Slurm(nodes=2) as cluster:
        cluster.client("sbatch", "--nodes=2", "--output=/dev/null", str(script), cwd=tmp_path)
        until(lambda: len(list(tmp_path.glob("rank-*"))) == 2, 20, cluster.logs)
        assert len(users_of(cluster.folder)) >= 7  # munged, slurmctld, 2 slurmd, 3 slurmstepd
        raise KeyboardInterrupt
    assert list(survivors(-1, f"{MARK}={cluster.mark}")) == []
    assert users_of(cluster.folder) == set()
    assert not cluster.folder.exists()


def test_daemons_are_found_where_ordinary_users_do_not_look(monkeypatch):
    monkeypatch.setenv("PATH", os.defpath)
    assert program("slurmctld")
