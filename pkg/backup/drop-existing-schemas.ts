import type { ClientBase } from 'pg';
import { migrationLock } from '#pkg/database/index';
import type { BackedUpSchema, SchemaState } from './backed-up-schema.ts';
import { BackupError } from './backup-error.ts';
import { dropContents } from './drop-contents.ts';

/**
 * Drops existing schemas in the transaction of a restore. Servers that start meanwhile wait, as for a migration.
 * Returns the state of each dropped schema.
 * @throws BackupError if schemas exist and must not be replaced, or if servers use them
 */
export async function dropExistingSchemas(
  client: ClientBase,
  schemas: readonly BackedUpSchema[],
  { replace, serverWaitMs }: { replace: boolean; serverWaitMs: number },
): Promise<Map<string, SchemaState>> {
  for (const { name } of schemas) await client.query(`SELECT pg_advisory_xact_lock(${migrationLock(name)})`);
  const filled: BackedUpSchema[] = [];
  for (const schema of schemas) {
    const { rowCount } = await client.query('SELECT FROM pg_class WHERE relnamespace = to_regnamespace($1) LIMIT 1', [
      schema.name,
    ]);
    if (rowCount !== 0) filled.push(schema);
  }
  const replaced = new Map<string, SchemaState>();
  if (filled.length === 0) return replaced;
  const names = filled.map(({ name }) => name).join(' and ');
  if (!replace)
    throw new BackupError(
      `The database already has the schema ${names}; restore into an empty database, or give --replace to drop what is there.`,
    );
  await refuseInUse(client);
  for (const schema of filled) {
    const state = await stateOf(client, schema);
    if (state !== undefined) replaced.set(schema.name, state);
  }
  await dropContents(
    client,
    filled.map(({ name }) => name),
  );
  await refuseWaiting(client, serverWaitMs);
  return replaced;
}

/** Finds servers by their application name. */
async function refuseInUse(client: ClientBase): Promise<void> {
  refuse(await countServers(client, 'true'));
}

/**
 * A running server without a connection reconnects within seconds, and then waits for a table that this transaction has
 * dropped. A starting server waits for the lock of migrations instead, which is fine.
 */
async function refuseWaiting(client: ClientBase, forMs: number): Promise<void> {
  const end = performance.now() + forMs;
  do {
    await client.query('SELECT pg_sleep(0.1), pg_stat_clear_snapshot()');
    refuse(
      await countServers(
        client,
        "EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'relation' AND NOT l.granted)",
      ),
    );
  } while (performance.now() < end);
}

async function countServers(client: ClientBase, condition: string): Promise<number> {
  const { rows } = await client.query<{ n: string }>(
    `SELECT count(*) AS n FROM pg_stat_activity a
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${condition}
       AND application_name ~ '^svc( |$)' AND application_name !~ '^svc (backup|restore)( |$)'`,
  );
  return Number(rows[0]!.n);
}

function refuse(count: number): void {
  if (count > 0)
    throw new BackupError(
      `Servers are using this database (${count} connection${count === 1 ? '' : 's'} of svc): stop all of them before --replace.`,
    );
}

/** Undefined if the schemas are not those of this program, or incomplete. */
async function stateOf(client: ClientBase, schema: BackedUpSchema): Promise<SchemaState | undefined> {
  if (schema.readState === undefined) return undefined;
  await client.query('SAVEPOINT state');
  try {
    return await schema.readState(client);
  } catch {
    await client.query('ROLLBACK TO SAVEPOINT state');
    return undefined;
  }
}
