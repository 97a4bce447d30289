#!/bin/sh
# The Python environment of the tools and tests, kept in the cache per version of its lock. Prints its path.
# usage: python=$(tools/bootstrap.sh)
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tiered-kv-cache
say() { echo "$*" >&2; }
if ! mkdir -p "$cache" 2>/dev/null || [ ! -w "$cache" ]; then
  say "cannot write the cache folder $cache. fix: set XDG_CACHE_HOME to a folder of yours, or HOME if it is wrong"
  exit 1
fi

python=
for candidate in python3 python3.13 python3.12 python3.11; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ] || ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
    say "Python 3.11 or newer with venv is missing. fix: install python3 and python3-venv, or run as root on Debian or Ubuntu"
    exit 1
  fi
  say "installing python3 and python3-venv: the tools are written in Python"
  apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends python3 python3-venv >&2
  python=python3
  if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say "this release's Python is older than 3.11. fix: use Debian 12, Ubuntu 24.04 or newer"
    exit 1
  fi
fi

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
key=$( (cat "$here/locks/dev.txt" && echo "$version") | sha256sum | cut -c1-12)
venv=$cache/venv/$key
if [ ! -e "$venv/.done" ]; then
  say "installing the tools' Python packages into $venv (pinned by locks/dev.txt; about 20 s)"
  mkdir -p "$cache/venv"
  # Two runs at once: the second waits here and finds it done.
  exec 9>"$cache/venv/lock"
  flock 9
  if [ ! -e "$venv/.done" ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    if ! "$venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$here/locks/dev.txt" >&2; then
      say "pip could not install locks/dev.txt. fix: check pip's package index (pip config list), then run this again"
      exit 1
    fi
    touch "$venv/.done"
  fi
fi
echo "$venv/bin/python"
