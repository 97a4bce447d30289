"""Which keys of the chart's values have an effect that a render shows: `python -m key_coverage`."""
