"""Proves the L2 patch (docs/l2-patch.md) by Pods that are never made, and finds Pods that run without it."""
