#!/bin/sh
# Brings the programs of compose.yaml to another image, which .env names afterwards: upgrade-compose.sh svc:2.23.0
# One replica at a time: a new one comes, and once all are healthy an old one stops, so that in the end there are as many as before.
# The first that fails ends it: the new replica goes, and the others serve on.
set -eu
if [ $# -ne 1 ]; then
  echo "usage: $0 <image>" >&2
  exit 2
fi
cd "$(dirname "$0")"
export IMAGE="$1"

# Those that stopped too, as `up` counts them; but nothing of `docker compose run`, such as a backup under way.
replicas() {
  ids=$(docker compose ps --all --quiet "$1")
  [ -z "$ids" ] || docker inspect --format '{{.Id}} {{index .Config.Labels "com.docker.compose.oneoff"}}' $ids | sed -n 's/ False$//p'
}

# Empty while nothing is awaited.
before=
take_back() {
  [ -n "$before" ] || return 0
  for id in $(replicas "$service" | grep -vxF "$before"); do
    docker logs --tail 20 "$id" >&2 || true
    docker rm --force "$id" >/dev/null
  done
  echo "$service: not all replicas became healthy. The new one was removed, its last lines are above; $replaced of $count were replaced. .env names the image of before: docker compose up -d brings all back to it." >&2
}
trap take_back EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

docker compose run --rm --no-TTY --no-deps apiserver migrate --check

for service in apiserver access-server controller-manager; do
  old=$(replicas "$service")
  count=$(echo "$old" | wc -w)
  replaced=0
  for id in $old; do
    before=$(replicas "$service")
    docker compose up --detach --wait --wait-timeout 300 --no-deps --no-recreate --scale "$service=$((count + 1))" "$service"
    before=
    docker stop -t 45 "$id" >/dev/null
    docker rm "$id" >/dev/null
    replaced=$((replaced + 1))
    echo "$service: $replaced of $count"
  done
done

{ grep -sv '^IMAGE=' .env || true; echo "IMAGE=$IMAGE"; } >.env.new
mv .env.new .env
