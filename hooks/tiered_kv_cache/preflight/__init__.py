"""Looks at a cluster before a release changes it: one table of what would not work, each row with its fix."""
