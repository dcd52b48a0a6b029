"""From finished cases to rows: the only place that knows what each column is made of."""

from collections.abc import Iterable
from typing import Any

from dpbench.measure.case import Case
from dpbench.measure.options import Options
from dpbench.measure.plan import Plan
from dpbench.measure.statistics import Summary, summarise
from dpbench.results.doubt import Doubt
from dpbench.results.facts import RunFacts
from dpbench.results.link import limit_s
from dpbench.results.metric import rates
from dpbench.results.record import Row


def make_row(case: Case, options: Options, facts: RunFacts, doubts: Iterable[Doubt]) -> Row:
    """Return the row of a finished case."""
    codes = [doubt.code for doubt in doubts]
    return Row(
        **common(options, facts),
        **asked(case),
        scope=facts.scopes[case.plan.device],
        **(outcome(case, options, facts) if case.reason is None else {}),
        warnings=" ".join(codes),
        quality=quality(case, bool(codes)),
        reason=case.reason or (f"{case.wrong} wrong elements, no times are given" if case.wrong else None),
    )


def quality(case: Case, warned: bool) -> str:
    """Return the verdict on a case."""
    if case.reason is not None:
        return "skipped"
    return "invalid" if case.wrong else "warn" if warned else "ok"


def common(options: Options, facts: RunFacts) -> dict[str, Any]:
    """Return what all rows of a run share."""
    return {
        "run_id": facts.run_id,
        "dpbench_version": facts.version,
        "command": facts.command,
        "mpi_library": facts.mpi_library,
        "thread_level": facts.thread_level,
        "ranks": facts.ranks,
        "nodes": len(facts.hosts),
        "cadence": options.cadence,
        "operation": "step" if options.training else "allreduce",
        "dtype": facts.dtype,
        "slices_requested": str(options.slices or "auto"),
        "seed": facts.seed,
    }


def asked(case: Case) -> dict[str, Any]:
    """Return what a case was to be, also of one that was skipped."""
    return {"started_at": case.started_at, "finished_at": case.finished_at, **planned(case.plan)}


def planned(plan: Plan) -> dict[str, Any]:
    """Return what a plan says about a case."""
    roles = plan.roles
    return {
        "strategy": plan.strategy,
        "device": plan.device,
        "workers": len(roles.workers) if roles else None,
        "bytes": plan.bytes,
        "count": plan.count,
        "dedicated": int(roles.dedicated) if roles else None,
        "servers": (len(roles.servers) or None) if roles else None,
        "slices": plan.slices,
        "window": plan.window,
    }


def outcome(case: Case, options: Options, facts: RunFacts) -> dict[str, Any]:
    """Return what a case showed; no times if its result was wrong."""
    found: dict[str, Any] = {"wrong_elements": case.wrong, "stop_reason": case.stop_reason}
    if case.ports:
        found["total_bytes"] = case.ports.total
        found["busiest_rank"] = facts.number(case.ports.busiest_rank)
        found["busiest_rank_bytes"] = case.ports.busiest_rank_bytes
        found["busiest_node_bytes"] = case.ports.load.node if len(facts.hosts) > 1 else None
    if case.wrong:
        return found
    assert case.plan.roles is not None
    summary = summarise(case.samples)
    rate = rates(case.plan.bytes, summary.median, facts.ranks, len(case.plan.roles.workers))
    computing = options.training.compute if options.training else 0.0  # its time says nothing about bandwidth
    limit = limit_of(case, facts)
    limit = limit and limit + computing
    return found | {
        "limit_s": limit,
        "limit_fraction": limit / summary.median if limit else None,
        "warmup": case.warmups,
        "iterations": summary.n,
        **times(summary),
        "start_skew_s": case.spread.skew_s,
        "span_s": case.spread.span_s,
        "algbw_GB_per_s": None if computing else rate.algbw,
        "busbw_GB_per_s": None if computing else rate.busbw,
    }


def times(summary: Summary | None) -> dict[str, Any]:
    """Return the columns of times, empty if there are none."""
    names = ("median", "ci_low", "ci_high", "min", "p25", "p75", "p95", "max")
    return {f"time_{name}_s": getattr(summary, name, None) for name in names}


def limit_of(case: Case, facts: RunFacts) -> float | None:
    """Return the time that the wire needs, where there is a wire and its bytes are known."""
    link = facts.links.get(case.plan.device)
    return limit_s(case.ports.load, link) if link and case.ports else None
