#!/bin/sh
# Make /opt/venv from the lock file of an image, offline. Runs in a Containerfile's RUN with the context mounted at $1:
#   requirements.lock   what to install, with hashes
#   wheels/             its wheel files, and uv's
#   wheels-unlocked/    wheels without a hash in the lock (torch: its file depends on where it comes from); may be absent
set -eu
context=$1
python=$(command -v python3)
begin=$(date +%s)

# uv from its wheel, which is a zip file with the program in it.
work=$(mktemp -d)
"$python" - "$context/wheels" "$work/uv" <<'P'
import pathlib, sys, zipfile
wheel = next(pathlib.Path(sys.argv[1]).glob("uv-*.whl"))
with zipfile.ZipFile(wheel) as archive:
    name = next(n for n in archive.namelist() if n.endswith(".data/scripts/uv"))
    pathlib.Path(sys.argv[2]).write_bytes(archive.read(name))
P
chmod 755 "$work/uv"

# The cache lies beside the venv so that uv links files instead of copying them; it is gone before the layer is kept.
export UV_CACHE_DIR=/opt/.uv-cache UV_LINK_MODE=hardlink UV_NO_PROGRESS=1 UV_OFFLINE=1 UV_NO_CONFIG=1 UV_PYTHON_DOWNLOADS=never
"$python" -m venv --without-pip /opt/venv
install() { "$work/uv" pip install --python /opt/venv/bin/python --no-deps --no-index "$@"; }
install --find-links "$context/wheels" --require-hashes -r "$context/requirements.lock"
for wheel in "$context"/wheels-unlocked/*.whl; do
  [ ! -e "$wheel" ] || install "$wheel"
done
rm -rf "$work" "$UV_CACHE_DIR"
echo "installed in $(($(date +%s) - begin)) s"
