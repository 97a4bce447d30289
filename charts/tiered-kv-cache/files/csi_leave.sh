#!/bin/sh
# The CSI node plugin's preStop: it serves until no Pod of its node uses the pool any more, at most LEAVE_SECONDS (300).
#
# Its FUSE processes end with it, and mounts that Pods still use then answer ENOTCONN until those Pods are restarted.
KUBELET=${KUBELET:-/var/lib/kubelet}
LOG=${LOG:-/proc/1/fd/2}
left=${LEAVE_SECONDS:-300}
used() { # the table's lines of mounts that Pods see
  grep -E " $KUBELET/pods/[^ ]+/volumes/kubernetes[.]io~csi/[^ ]+/mount .* - fuse[. ]curvinefs " /proc/self/mountinfo
}
while [ "$left" -gt 0 ] && used >/dev/null; do
  [ $((left % 10)) -ne 0 ] || echo "csi-leave: $(used | wc -l) Pods of this node use the pool; waits for them, $left s" >>"$LOG"
  left=$((left - 1))
  sleep 1
done
