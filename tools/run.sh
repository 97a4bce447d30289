#!/bin/sh
# Run a module of the tools or tests in the project's Python environment: tools/run.sh -m local_cluster up
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
python=$("$here/tools/bootstrap.sh")
cd "$here"
PATH=$(dirname "$python"):$PATH PYTHONPATH=hooks:tools:tests exec "$python" "$@"
