#!/bin/sh
# One mount of the whole shared pool on this node, bound once for each line of business; made again when it dies.
#
# It runs as the only process of a privileged container. Engine Pods mount POOL_DIR/<line> with HostToContainer and use fs/
# in it: when the pool's process dies, the dead mount is taken away and the next one appears in Pods that go on running.
#
#   POOL_DIR/.pool        root 0700, in it fs/: where the whole pool is mounted
#   POOL_DIR/<line>       root 0755, in it fs/: root 0555, over it the bind mount of POOL_SUBDIRECTORY/<line> of the pool. While
#                         it is not bound an engine cannot write, so nothing ever lies beside the pool.
#
# Environment:
#   POOL_DIR           directory of the node, mounted here with mountPropagation Bidirectional (/pool)
#   POOL_LINES         names of the lines of business, with blanks between them
#   POOL_COMMAND       what mounts the pool and serves it while it runs; the mount point is put behind it
#   POOL_UID, POOL_GID owner of each line's directory in the pool (10001)
#   POOL_WAIT          seconds that a new mount may take until it answers (120)
#   POOL_SUBDIRECTORY  directory of the pool that holds the lines' directories (tenants)
#
# SIGTERM, SIGINT: takes all mounts away and exits 0, within 8 s. A wrong environment: exit 2 before anything is done.
# A pool that hangs while its process lives is left alone: the client goes on by itself once the pool is back.
set -u
# POOL_LINES and POOL_COMMAND are split into words; none of them is a pattern.
set -f
umask 022
# Ranges such as a-z mean ASCII, and the tools' messages are the ones that are written down somewhere.
LC_ALL=C
export LC_ALL

POOL_DIR=${POOL_DIR-/pool}
POOL_LINES=${POOL_LINES-}
POOL_COMMAND=${POOL_COMMAND-/app/curvine/lib/curvine-fuse --conf /etc/curvine/curvine-cluster.toml --mnt-path}
POOL_UID=${POOL_UID-10001}
POOL_GID=${POOL_GID-10001}
POOL_WAIT=${POOL_WAIT-120}
POOL_SUBDIRECTORY=${POOL_SUBDIRECTORY-tenants}

STOP_SECONDS=5     # between TERM and KILL for the pool's process
ANSWER_SECONDS=10  # for what asks the pool, before it counts as hanging
AGAIN_SECONDS=5    # between two tries to bind
HEALTHY_SECONDS=60 # after which a failure counts as the first one again
MOST_PAUSE=10      # seconds between two starts

newline='
'
words=" 	$newline"
pool=$POOL_DIR/.pool/fs
command='' child='' device='' stopping=''

say() {
  printf '%s pool-mount: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"
}

# Environment

fault() {
  faults="$faults$newline  $1"
}

number() { # NAME VALUE LEAST MOST
  case $2 in
    '' | *[!0-9]* | 0?* | ???????????*) fault "$1=\"$2\": not a number. fix: an integer from $3 to $4" ;;
    *) [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] || fault "$1=$2: out of range. fix: an integer from $3 to $4" ;;
  esac
}

lines_are_names() {
  seen=' '
  for line in $POOL_LINES; do
    case $line in
      *[!a-z0-9-]*) fault "POOL_LINES: \"$line\" is no line of business. fix: use only a-z, 0-9 and \"-\"" ;;
    esac
    case $seen in
      *" $line "*) fault "POOL_LINES: \"$line\" stands there twice. fix: name each line of business once" ;;
    esac
    seen="$seen$line "
  done
  [ "$seen" != ' ' ] || fault "POOL_LINES=\"$POOL_LINES\": empty, so nobody would get a mount. fix: name the lines of business"
}

directory_is_shared() {
  case $POOL_DIR in
    /*[!A-Za-z0-9/._-]* | [!/]* | '' | /)
      fault "POOL_DIR=\"$POOL_DIR\": not a place for mounts. fix: an absolute path of letters, digits, \"/._-\""
      return
      ;;
  esac
  if ! real=$(cd -P -- "$POOL_DIR" 2>/dev/null && pwd -P); then
    fault "POOL_DIR=$POOL_DIR: not a directory here. fix: mount a hostPath volume of type DirectoryOrCreate there"
    return
  fi
  # The kernel's table of mounts has real paths only.
  [ "$real" = "$POOL_DIR" ] || fault "POOL_DIR=$POOL_DIR: it is $real in truth. fix: POOL_DIR=$real"
  sharing='' best=''
  IFS=$newline
  # shellcheck disable=SC2013 # lines, by IFS
  for entry in $(cat /proc/self/mountinfo); do
    IFS=$words
    # shellcheck disable=SC2086 # the table's columns
    set -- $entry
    case $real/ in
      "${5%/}"/*) [ ${#5} -ge ${#best} ] && best=$5 sharing=${entry%% - *} ;;
    esac
  done
  IFS=$words
  case $sharing in
    *' shared:'*) ;;
    *) fault "POOL_DIR=$POOL_DIR: its mount is not shared, so no Pod would see the pool. fix: mountPropagation: Bidirectional (and privileged: true) for this volume" ;;
  esac
}

subdirectory_is_below() {
  case /$POOL_SUBDIRECTORY/ in
    *[!A-Za-z0-9/._-]* | *//* | */./* | */../*)
      fault "POOL_SUBDIRECTORY=\"$POOL_SUBDIRECTORY\": not a directory below the pool's root. fix: a relative path of letters, digits, \"/._-\", as tenants"
      ;;
  esac
}

check_environment() {
  faults=''
  lines_are_names
  directory_is_shared
  subdirectory_is_below
  number POOL_UID "$POOL_UID" 0 4294967294
  number POOL_GID "$POOL_GID" 0 4294967294
  number POOL_WAIT "$POOL_WAIT" 1 3600
  # shellcheck disable=SC2086 # a command line
  set -- $POOL_COMMAND
  if ! command -v -- "${1-}" >/dev/null 2>&1; then
    fault "POOL_COMMAND=\"$POOL_COMMAND\": there is no program \"${1-}\" in this image. fix: the command line that mounts the pool, without the mount point"
  fi
  [ "$(id -u)" = 0 ] || fault "user $(id -u): only root can mount. fix: runAsUser: 0 and privileged: true"
  [ -z "$faults" ] || say "the environment is wrong, nothing was done:$faults" >&2
  [ -z "$faults" ]
}

# Time and processes

# Hundredths of a second since the machine's start: no clock that somebody sets.
now() {
  read -r up _ </proc/uptime
  time=${up%.*}${up#*.}
}

# In steps of a second, since a signal between the look at `stopping` and the wait would be seen only after it.
rest() { # SECONDS
  left=$1
  while [ "$left" -gt 0 ] && [ -z "$stopping" ]; do
    sleep 1 &
    wait $!
    left=$((left - 1))
  done
}

alive() {
  [ -n "$1" ] && kill -0 "$1" 2>/dev/null
}

# Run what asks the pool as a child. Who asks a dead pool may hang for ever and cannot be killed; such a child is left to
# itself, and as long as it is there the next one fails at once.
within() { # COMMAND...
  alive "$child" && return 124
  "$@" &
  child=$!
  now
  limit=$((time + ANSWER_SECONDS * 100))
  while alive "$child"; do
    now
    if [ -n "$stopping" ] || [ "$time" -ge "$limit" ] || ! alive "$command"; then
      return 124
    fi
    sleep 0.1
  done
  wait "$child"
}

end_command() {
  alive "$command" || return
  kill -TERM "$command"
  now
  limit=$((time + STOP_SECONDS * 100))
  while alive "$command"; do
    now
    if [ "$time" -ge "$limit" ]; then
      say "the pool's process did not end within $STOP_SECONDS s of SIGTERM: killed"
      kill -KILL "$command"
      sleep 0.2
      return
    fi
    sleep 0.1
  done
}

# Mounts

# Look at the kernel's table, never at the places, which may hang: `ours` gets " POINT DEVICE ROOT " of each mount of ours, the
# newest last. By `cat`, since a shell that reads a line seeks back, and the table may have changed.
look() {
  ours=''
  IFS=$newline
  # shellcheck disable=SC2013 # lines, by IFS
  for entry in $(cat /proc/self/mountinfo); do
    IFS=$words
    # shellcheck disable=SC2086 # the table's columns
    set -- $entry
    below=${5#"$POOL_DIR"/}
    case $below in
      "$5" | */*/*) ;;
      */fs) ours="$ours$newline$5 $3 $4" ;;
    esac
  done
  IFS=$words
}

# What `look` saw uppermost at a place: `top` gets "DEVICE ROOT", or nothing.
uppermost() { # POINT
  case $ours$newline in
    *"$newline$1 "*)
      top=${ours##*"$newline$1 "}
      top=${top%%"$newline"*}
      ;;
    *) top='' ;;
  esac
}

# Take mounts away lazily: also hung ones, dead ones, and those that lie over one another. `removed` gets how many.
detach() { # all|binds|POINT
  removed=0
  while [ "$removed" -lt 200 ]; do
    look
    found=''
    IFS=$newline
    for entry in $ours; do
      point=${entry%% *}
      case $1 in
        all | "$point") found=$point ;;
        binds) [ "$point" = "$pool" ] || found=$point ;;
      esac
    done
    IFS=$words
    [ -n "$found" ] || return 0
    if ! problem=$(umount -i -c -l "$found" 2>&1); then
      say "cannot unmount $found: $problem"
      return 1
    fi
    removed=$((removed + 1))
  done
  say "more than $removed mounts at $POOL_DIR: somebody else mounts there"
  return 1
}

folder() { # PATH MODE
  if [ -L "$1" ] || { [ -e "$1" ] && [ ! -d "$1" ]; }; then
    echo "$1 is not a directory. fix: remove it on the node"
    return 1
  fi
  [ -d "$1" ] || mkdir "$1" || return 1
  [ "$(stat -c '%u:%g' "$1")" = 0:0 ] || chown 0:0 "$1" || return 1
  [ "$(stat -c %a "$1")" = "${2#0}" ] || chmod "$2" "$1"
}

# The node's directories.
folders() {
  folder "$POOL_DIR/.pool" 0700 && folder "$pool" 0555 || return 1
  for line in $POOL_LINES; do
    folder "$POOL_DIR/$line" 0755 && folder "$POOL_DIR/$line/fs" 0555 || return 1
  done
}

# A line's directory in the pool, and its bind mount. From inside the pool, by relative paths: if the mount goes away
# meanwhile they lead nowhere, and never to the node's own disk below it.
# shellcheck disable=SC2329 # called by way of within
bind() { # LINE
  source=$POOL_SUBDIRECTORY/$1
  cd "$pool" || return 1
  if [ "$(stat -c %d .)" = "$(stat -c %d ..)" ]; then
    echo "the pool is not mounted"
    return 1
  fi
  mkdir -p "$POOL_SUBDIRECTORY" || return 1
  if [ -L "$source" ]; then
    echo "$source of the pool is a symbolic link. fix: remove it"
    return 1
  fi
  # Another node may make it at the same time.
  [ -d "$source" ] || mkdir -m 0770 "$source" || [ -d "$source" ] || return 1
  [ "$(stat -c '%u:%g' "$source")" = "$POOL_UID:$POOL_GID" ] || chown "$POOL_UID:$POOL_GID" "$source" || return 1
  [ "$(stat -c %a "$source")" = 770 ] || chmod 0770 "$source" || return 1
  mount -c --bind "$source" "$POOL_DIR/$1/fs"
}

# shellcheck disable=SC2329 # called by way of within
try_bind() { # LINE
  if problem=$(bind "$1" 2>&1); then
    say "$1: bound to $POOL_SUBDIRECTORY/$1 of the pool"
  else
    say "$1: not bound: ${problem%%"$newline"*}. Tried again in $AGAIN_SECONDS s"
    return 1
  fi
}

# Make those binds that are not there: at the first time all, later what somebody unmounted.
bind_missing() {
  now
  [ "$time" -ge "$bind_at" ] || return
  failed=''
  for line in $POOL_LINES; do
    uppermost "$POOL_DIR/$line/fs"
    [ "$top" != "$device /$POOL_SUBDIRECTORY/$line" ] || continue
    # Nothing at the first time. Later a mount of something else, or of a directory that was removed.
    detach "$POOL_DIR/$line/fs"
    within try_bind "$line"
    case $? in
      0) ;;
      124)
        # Whoever comes next would wait as long.
        [ -n "$stopping" ] || ! alive "$command" || say "$line: not bound: the pool does not answer. Tried again in $AGAIN_SECONDS s"
        failed=1
        break
        ;;
      *) failed=1 ;;
    esac
  done
  [ -n "$failed" ] || return
  now
  bind_at=$((time + AGAIN_SECONDS * 100))
}

# Life of one mount

# Start the pool's process and wait until its mount answers; `device` gets the mount's.
start() {
  say "starting $POOL_COMMAND $pool"
  now
  began=$time
  # shellcheck disable=SC2086 # a command line
  $POOL_COMMAND "$pool" </dev/null &
  command=$!
  while [ -z "$stopping" ]; do
    if ! alive "$command"; then
      wait "$command"
      say "the pool's process ended with status $? before its mount was there"
      return 1
    fi
    look
    uppermost "$pool"
    device=${top%% *}
    if [ -n "$top" ] && within stat "$pool" >/dev/null 2>&1; then
      now
      say "the pool is mounted and answers, after $(((time - began) / 100)) s"
      return 0
    fi
    now
    if [ "$((time - began))" -ge "$((POOL_WAIT * 100))" ]; then
      say "the pool did not answer within POOL_WAIT=$POOL_WAIT s"
      return 1
    fi
    sleep 0.1
  done
  return 1
}

# Returns when this mount is over, or on a signal.
watch() {
  bind_at=0
  while [ -z "$stopping" ]; do
    if ! alive "$command"; then
      wait "$command"
      say "the pool's process ended with status $?"
      return
    fi
    look
    uppermost "$pool"
    if [ "${top%% *}" != "$device" ]; then
      say "somebody unmounted the pool at $pool, or mounted something over it"
      return
    fi
    bind_missing
    rest 1
  done
}

main() {
  check_environment || exit 2
  trap 'stopping=1' TERM INT
  detach all
  [ "$removed" = 0 ] || say "took $removed mounts of an earlier run away"
  pause=0
  while [ -z "$stopping" ]; do
    now
    healthy_from=''
    if ! problem=$(folders 2>&1); then
      say "the node's directories are not as they have to be: ${problem%%"$newline"*}"
    elif start; then
      now
      healthy_from=$time
      watch
    fi
    [ -z "$stopping" ] || break
    detach all
    end_command
    detach all
    now
    [ -z "$healthy_from" ] || [ "$((time - healthy_from))" -lt "$((HEALTHY_SECONDS * 100))" ] || pause=0
    say "all mounts of the pool are taken away; starting again in $pause s"
    rest "$pause"
    pause=$((pause == 0 ? 1 : pause * 2))
    [ "$pause" -le "$MOST_PAUSE" ] || pause=$MOST_PAUSE
  done
  say "stopping"
  detach binds
  end_command
  detach all
  say "stopped"
  exit 0
}

main
