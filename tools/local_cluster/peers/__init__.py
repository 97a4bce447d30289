"""`make bench-peers`: our L2 beside what else LMCache can store blocks in, on the same engine."""
