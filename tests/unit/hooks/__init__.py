"""Unit tests of the hooks package: loopback and tmpfs only."""
