"""The L2 tier on a shared filesystem: LMCache's adapter (docs/l2.md) and the files it shares with the keeper (docs/l2-format.md).

Runs inside the engine's image: only the standard library, xxhash, prometheus_client and, in ``adapter`` alone, lmcache may be
imported here, and nothing newer than Python 3.10.
"""
