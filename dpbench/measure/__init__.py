"""What is measured and how: the plan, the synthetic gradient, the timed loop, the statistics, the checks."""
