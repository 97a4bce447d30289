"""The node image of the kind cluster, built from Debian packages and Go modules where kindest/node cannot be pulled."""
