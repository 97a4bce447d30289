"""The project's tests as parts that say how long they took: `make test`, `make test-fast`, `make lint` …"""
