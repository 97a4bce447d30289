"""Storms and broken parts on real engines: minutes each, so they run by `make drills` and not in every test run."""
