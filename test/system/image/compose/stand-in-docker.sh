#!/bin/sh
# docker, as far as deploy/upgrade-compose.sh asks it, for its test. In the folder $DOCKER, containers/<service>-<number> is a container and holds its image, with " once" where it is of `compose run`;
# what is asked is in calls, and how many of a service there are after each change in counts. REFUSED is `migrate`, or the container that never becomes healthy.
set -eu
cd "$DOCKER/containers"
echo "$*" >>../calls
for last; do :; done
case "$*" in
  "compose run "*) [ "$REFUSED" != migrate ] ;;
  "compose ps --all --quiet "*) ls | grep "^$last-[0-9]" || true ;;
  inspect*)
    shift 3
    for id; do
      if grep -q ' once$' "$id"; then echo "$id True"; else echo "$id False"; fi
    done
    ;;
  "compose up "*)
    wanted=$(echo "$*" | sed "s/.*--scale $last=\([0-9]*\).*/\1/")
    while [ "$(grep -L ' once$' "$last"-* | wc -l)" -lt "$wanted" ]; do
      number=1
      while [ -e "$last-$number" ] || grep -qx "rm $last-$number" ../calls; do number=$((number + 1)); done
      echo "$IMAGE" >"$last-$number"
    done
    grep -L ' once$' "$last"-* | wc -l >>../counts
    [ ! -e "$REFUSED" ]
    ;;
  stop*) ;;
  logs*) echo "the last lines of $last" ;;
  rm*) rm "$last" ;;
  *) exit 64 ;;
esac
