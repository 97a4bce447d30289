"""verify: proves with counters that one Pod's KV cache serves another Pod, tier by tier.

Order of work: configuration, checks of Pod specs (nothing is waited for if they fail), readiness, measurement,
diagnosis, report. Faults are collected, never raised one by one.
"""
