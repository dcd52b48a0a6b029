"""A cluster laid out on one Linux machine: nodes that are namespaces, on links of a chosen rate to a switch."""
