#!/usr/bin/env bash
# A drill of point-in-time recovery with PostgreSQL's own tools, from nothing to the end: a base backup, archived WAL, an accident, and the
# database as it was the moment before. `test/system/backup/point-in-time.sh <empty folder>`, after `npm run build`; needs Debian's postgresql, and curl.
set -euo pipefail

folder=$(realpath "$1")
program=${PROGRAM:-node dist/cmd/svc/main.js}
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
export PGHOST=$folder PGUSER=postgres PGDATABASE=postgres
url="postgres://postgres@/postgres?host=$folder"
token=$($program new-token)
# Of every listener that this version has.
ports=$($program --help | sed -n 's/^  \(svc\.\(server\|access\)\.[a-z.]*port\) .*/--\1=0/p')

# PostgreSQL refuses to run as root.
as_postgres() { if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi; }
postgres_start() { as_postgres "$bin/pg_ctl" start -s -w -D "$folder/pgdata" -l "$folder/postgres.log" -o "-c listen_addresses='' -c unix_socket_directories='$folder'"; }

svc_begin() {
  : > "$folder/svc.log"
  $program serve --svc.database.url="$url" --svc.data.dir="$folder/data" $ports \
    --svc.security.initial-admin-token="$token" > "$folder/svc.log" &
  svc_pid=$!
}
svc_says() { until grep -q "\"msg\":\"$1\"" "$folder/svc.log"; do kill -0 "$svc_pid"; sleep 0.1; done; }
svc_ready() {
  svc_says ready
  api=$(sed -n 's/.*"url":"\([^"]*\)".*"msg":"ready".*/\1/p' "$folder/svc.log" | head -1)
}
svc_stop() { kill "$svc_pid"; wait "$svc_pid" || true; }
ask() { curl -sS --fail-with-body -H "Authorization: Bearer $token" "$api$1" "${@:2}"; }
create() { ask /api/v1/namespaces -o "$folder/answer" --json "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"$1\"}}"; }
names() { ask /api/v1/namespaces | grep -o '"name":"drill-[a-z]*"' | sort | tr '\n' ' '; }
trap 'kill "${svc_pid:-}" 2>/dev/null || true; as_postgres "$bin/pg_ctl" stop -s -m immediate -D "$folder/pgdata" || true' EXIT

# Once: WAL goes to an archive, which is on another disk in earnest.
[ "$(id -u)" != 0 ] || chown postgres "$folder"
chmod 755 "$folder"
as_postgres mkdir "$folder/archive"
as_postgres "$bin/initdb" -D "$folder/pgdata" -A trust -U postgres --locale=C.UTF-8 > "$folder/initdb.log"
as_postgres tee -a "$folder/pgdata/postgresql.conf" > /dev/null <<EOF
archive_mode = on
archive_command = 'test ! -f $folder/archive/%f && cp %p $folder/archive/%f'
EOF
postgres_start
svc_begin
svc_ready
create drill-before

# As where a standby confirms every commit: a base backup brings that along. It is not in force here, where there is none.
as_postgres psql -qc "ALTER SYSTEM SET synchronous_standby_names = 'standby'"

# Every night: a base backup.
as_postgres "$bin/pg_basebackup" -D "$folder/base" -X none --no-manifest -c fast 2> "$folder/basebackup.log"

create drill-after
moment=$(as_postgres psql -qAtc 'SELECT clock_timestamp()')
sleep 1

# The accident.
create drill-lost
ask /api/v1/namespaces/drill-before -X DELETE -o "$folder/answer"
newest=$(ask /api/v1/namespaces | sed 's/.*"resourceVersion":"\([0-9]*\)".*"items".*/\1/')
# The server goes on writing: what is waited for is the file that is full now, not the newest.
segment=$(as_postgres psql -qAtc 'SELECT pg_walfile_name(pg_switch_wal())')
until [ "$(as_postgres psql -qAtc "SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")" = t ]; do sleep 0.1; done

# The recovery: everything stops, the base backup takes the place of the data, and PostgreSQL reads the archive up to the moment.
svc_stop
as_postgres "$bin/pg_ctl" stop -s -m fast -D "$folder/pgdata"
as_postgres mv "$folder/pgdata" "$folder/pgdata-of-the-accident"
as_postgres cp -a "$folder/base" "$folder/pgdata"
as_postgres tee -a "$folder/pgdata/postgresql.conf" > /dev/null <<EOF
restore_command = 'cp $folder/archive/%f %p'
recovery_target_time = '$moment'
recovery_target_action = 'promote'
EOF
as_postgres touch "$folder/pgdata/recovery.signal"
postgres_start
until [ "$(as_postgres psql -qAtc 'SELECT pg_is_in_recovery()')" = f ]; do sleep 0.1; done

# No standby is there to confirm what is written: the server says that it waits for one, and goes on when it no longer has to.
svc_begin
svc_says 'PostgreSQL takes no writes: the database waits for a synchronous standby'
echo 'waits for a standby'
as_postgres psql -qc "ALTER SYSTEM SET synchronous_standby_names = ''" -c 'SELECT pg_reload_conf()' > "$folder/answer"
svc_ready
echo "recovered: $(names)"
grep -o 'the database failed over or was recovered: revisions jump' "$folder/svc.log"
ask "/api/v1/namespaces?watch=1&resourceVersion=$newest" --max-time 10 | grep -o '"code":410'
svc_stop
