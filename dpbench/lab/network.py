"""The network as shell scripts for `ip` and `tc`: one that makes a node's link, one that plugs all links in.

The machine's own network is never touched: every script runs in a namespace of the lab's.
"""

from dpbench.lab.layout import NETWORK, Layout, address

# Neither the nodes nor the switch speak IPv6: its announcements would travel over links that are measured.
SILENT = "addrgenmode none"

# Alike on every machine, and every kernel has it. Those that estimate the rate, such as bbr, need many round trips to
# believe in a link that was idle: then what is measured is their guess.
CONGESTION_CONTROL = "reno"


def node_script(layout: Layout, node: int) -> str:
    """Return what runs in a new node's namespace: it makes the link and hands the far end to process 1's."""
    return f"""\
ip -batch - <<END
link set lo up
link add eth0 type veth peer name {port(node)} netns 1
address add {address(node)}/24 dev eth0 noprefixroute
link set eth0 up {SILENT}
route add {NETWORK} dev eth0 src {address(node)} congctl {CONGESTION_CONTROL}
END
tc qdisc add {limit(layout, node, "eth0")}
"""


def switch_script(layout: Layout) -> str:
    """Return what runs beside the far ends of all links: it joins them, and limits what they send as well."""
    ports = "\n".join(f"link set {port(node)} master switch up {SILENT}" for node in layout.numbers)
    limits = "\n".join(f"qdisc add {limit(layout, node, port(node))}" for node in layout.numbers)
    return f"""\
ip -batch - <<END
link add switch type bridge mcast_snooping 0
{ports}
link set switch up {SILENT}
END
tc -batch - <<END
{limits}
END
"""


def port(node: int) -> str:
    """Return the switch's name for its end of a node's link."""
    return f"port{node}"


def limit(layout: Layout, node: int, device: str) -> str:
    """Return the token bucket that holds what one end of a node's link sends to its rate."""
    rate, burst = round(layout.rate_of(node) * 8), layout.burst_of(node)
    return f"dev {device} root tbf rate {rate}bit burst {burst} latency 100ms"
