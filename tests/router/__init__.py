"""The real router, with the flags that the chart gives it, in front of stub engines on loopback."""
