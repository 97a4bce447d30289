#!/bin/sh
# Compile the venv and, where the base image has not done so, Python's own library. The compiled files are marked as
# valid whatever the times of the sources say: image tools reset times, and a container with a read-only root would
# compile everything again at each start (80 s for vLLM).
# usage: compile.sh [EXCEPT]   EXCEPT: regular expression of paths to leave as they are
set -eu
library=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["stdlib"])')
set -- /opt/venv/lib ${1:+-x "$1"}
[ -e "$library/.compiled-unchecked" ] || set -- "$library" "$@"
begin=$(date +%s)
# Templates and deliberately broken test data do not compile; what matters is found by the image's self test.
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash "$@" >/dev/null 2>&1 || true
echo "compiled in $(($(date +%s) - begin)) s"
