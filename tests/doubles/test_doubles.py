"""dpbench's CUDA devices on a double that is as unhelpful as CUDA may be; and without each of dpbench's waits."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from waits import ROOT, sites

CAMPAIGN = Path(__file__).with_name("campaign.py")


def campaign(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CAMPAIGN), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT.parent)


@pytest.mark.parametrize("mode", ["lazy", "eager"])
def test_every_strategy_is_right_however_late_or_early_operations_run(mode: str) -> None:
    ended = campaign(mode)
    assert (ended.returncode, ended.stdout) == (0, "0 wrong elements\n"), ended.stderr


def test_the_waits_of_the_engine_the_devices_and_the_payload_are_found() -> None:
    assert {site.split(":")[0] for site in sites()} >= {
        "dpbench.devices.cuda",
        "dpbench.engine.build",
        "dpbench.engine.calls",
        "dpbench.engine.steps",
        "dpbench.measure.payload",
    }


@pytest.mark.parametrize("site", list(sites()))
def test_no_wait_can_be_left_out(site: str) -> None:
    ended = campaign("lazy", site)
    assert ended.returncode == 1, f"nothing noticed that {site} is left out"
    # Without what waits for it a stream may be freed too early: the double says so.
    assert ended.stdout.endswith("wrong elements\n") or "CUDARuntimeError" in ended.stderr, ended.stderr
