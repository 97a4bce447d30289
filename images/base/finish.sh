#!/bin/sh
# Last step of the base's root filesystem; mmdebstrap calls it with the root's path.
set -eu
root=$1
# Debian compiles its modules against the files' times. Whoever packs the image may change those, and Python would then
# compile the library anew at every start in a read-only container. Unchecked: a compiled file is valid as it is.
chroot "$root" python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3.11 /usr/lib/python3/dist-packages
touch "$root/usr/lib/python3.11/.compiled-unchecked"
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/usr/share/doc "$root"/usr/share/man \
  "$root"/usr/share/info "$root"/usr/share/locale "$root"/var/cache/debconf/*-old
