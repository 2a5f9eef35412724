import type { Database } from '#pkg/database/index';

/**
 * Connections that PostgreSQL has for this user and database: `max_connections` less those reserved for others, or the
 * limit of the role or the database if that is lower. Others may use some of them.
 */
export async function availableConnections(database: Pick<Database, 'pool'>): Promise<number> {
  // `reserved_connections` exists since PostgreSQL 16. A limit of -1 is none.
  const { rows } = await database.pool.query<{ available: number }>(
    `SELECT least(
       current_setting('max_connections')::int
         - CASE WHEN rolsuper THEN 0 ELSE current_setting('superuser_reserved_connections')::int + coalesce(current_setting('reserved_connections', true)::int, 0) END,
       CASE WHEN rolconnlimit >= 0 AND NOT rolsuper THEN rolconnlimit END,
       CASE WHEN datconnlimit >= 0 AND NOT rolsuper THEN datconnlimit END
     ) AS available
     FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()`,
  );
  return rows[0]!.available;
}
