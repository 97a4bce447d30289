"""The shared pool (Curvine): what must be true before its masters and workers start, and whether its mounts live."""
