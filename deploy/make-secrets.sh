#!/bin/sh
# Makes the secrets of compose.yaml, in the folder secrets beside it. Where there are some, it adds the tokens of programs that
# earlier versions did not make, and changes nothing else.
# SVC is the program that makes a token: by default the image.
set -eu
cd "$(dirname "$0")"
folder=${SECRETS:-secrets}
programs="controller-manager access-server"
new_token() {
  ${SVC:-docker run --rm ${IMAGE:-svc:latest}} new-token
}
# Takes a file, which is whole as soon as it is there.
write_token() {
  token=$(new_token)
  (umask 022 && printf '%s' "$token" >"$1.making")
  chmod 444 "$1.making"
  mv "$1.making" "$1"
}

if [ -e "$folder" ]; then
  added=
  for program in $programs; do
    [ ! -e "$folder/$program-token" ] || continue
    write_token "$folder/$program-token"
    added="$added $folder/$program-token"
  done
  if [ -n "$added" ]; then
    echo "added$added"
    exit 0
  fi
  echo "$folder is there already" >&2
  exit 1
fi
password=$(openssl rand -hex 24)

# Nobody but its owner passes the folder. The files themselves are read in containers, by users that have no name here.
making=$folder.making
rm -rf "$making"
mkdir -m 700 "$making"
umask 022
printf '%s' "$password" >"$making/postgres-password"
write_token "$making/admin-token"
cat >"$making/svc.yaml" <<END
svc.database.url: postgres://svc:$password@postgres:5432/svc
svc.security.initial-admin-token: $(cat "$making/admin-token")
svc.security.initial-admin-password: $(openssl rand -hex 12)
svc.security.key: $(openssl rand -hex 32)
END
for program in $programs; do write_token "$making/$program-token"; done
chmod 444 "$making"/*
mv "$making" "$folder"
