import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { findInstalledPostgres } from '../../harness/process/installed-postgres.ts';

const programFolders = ['/usr/bin', '/usr/sbin'];
/** The Debian package of each program. */
const packages = { patroni: 'patroni', etcd: 'etcd-server', etcdctl: 'etcd-client', haproxy: 'haproxy' };
export const installCommand =
  'RUNLEVEL=1 apt-get install --no-install-recommends patroni python3-etcd etcd-server etcd-client postgresql haproxy';

/** Debian packages that the run needs and this machine lacks. */
export async function missingPackages(folders = programFolders): Promise<string[]> {
  const missing = (await findInstalledPostgres()) === undefined ? ['postgresql'] : [];
  for (const [program, name] of Object.entries(packages)) {
    const found = await Promise.all(
      folders.map((folder) =>
        access(join(folder, program)).then(
          () => true,
          () => false,
        ),
      ),
    );
    if (!found.includes(true)) missing.push(name);
  }
  return missing;
}
