"""storage-check: whether the L2 volume is what two engines on two nodes need, whatever made it."""
