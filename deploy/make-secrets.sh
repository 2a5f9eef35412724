#!/bin/sh
# Makes the secrets of compose.yaml, in the folder secrets beside it; where there are some, it changes nothing.
# SVC is the program that makes a token: by default the image.
set -eu
cd "$(dirname "$0")"
folder=${SECRETS:-secrets}
if [ -e "$folder" ]; then
  echo "$folder is there already" >&2
  exit 1
fi
token=$(${SVC:-docker run --rm ${IMAGE:-svc:latest}} new-token)
password=$(openssl rand -hex 24)

# Nobody but its owner passes the folder. The files themselves are read in containers, by users that have no name here.
making=$folder.making
rm -rf "$making"
mkdir -m 700 "$making"
umask 022
printf '%s' "$password" >"$making/postgres-password"
printf '%s' "$token" >"$making/admin-token"
cat >"$making/svc.yaml" <<END
svc.database.url: postgres://svc:$password@postgres:5432/svc
svc.security.initial-admin-token: $token
svc.security.initial-admin-password: $(openssl rand -hex 12)
svc.security.key: $(openssl rand -hex 32)
END
chmod 444 "$making"/*
mv "$making" "$folder"
