"""What a run's JSON document tells besides its results: what was asked for, planned, and where it ran."""

from typing import TYPE_CHECKING, Any

from dpbench.measure.alike import arguments
from dpbench.measure.devices import Chosen
from dpbench.measure.groups import Group
from dpbench.measure.options import Options
from dpbench.measure.rows import planned
from dpbench.measure.surroundings import everybodys_state, everybodys_surroundings

if TYPE_CHECKING:
    from dpbench.engine.world import World


def background(world: "World", options: Options, chosen: Chosen, groups: list[Group]) -> dict[str, Any]:
    """Return what is to be kept, on rank 0; nothing without a document. Collective."""
    if options.json is None:
        return {}
    environment = everybodys_surroundings(world, any(device.name != "cpu" for device in chosen.devices))
    return {
        "options": arguments(options),
        "plan": [
            {**planned(plan), "ranks": group.facts.ranks, "reason": plan.reason}
            for group in groups
            for block in group.blocks
            for plan in block
        ],
        "environment": environment,
    }


def afterwards(world: "World", options: Options) -> list[dict[str, Any]]:
    """Return the state of the nodes after the run, on rank 0; nothing without a document. Collective."""
    return [] if options.json is None else everybodys_state(world)
