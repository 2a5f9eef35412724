import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedPostgres, silentLog } from '#pkg/database/index';

/**
 * A PostgreSQL of its own that asks these roles for their passwords, as an operator's does. The owner of
 * `connection` needs none. `folder` belongs to the caller, who also creates the roles.
 */
export async function startPasswordPostgres(folder: string, roles: readonly string[]): Promise<EmbeddedPostgres> {
  await mkdir(folder, { recursive: true });
  // As root, PostgreSQL runs as another user.
  await chmod(folder, 0o711);
  const access = join(folder, 'pg_hba.conf');
  await writeFile(access, `local all ${roles.join()} scram-sha-256\nlocal all all trust\n`, { mode: 0o644 });
  const settings = { hba_file: access, fsync: 'off' };
  return EmbeddedPostgres.start({ dataDir: join(folder, 'data'), log: silentLog, settings });
}
