"""The local cluster: what `make up`, `make down` and the cluster tests stand on. Nothing in here ships to users."""
