import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Debian has a folder for each major version. */
const home = '/usr/lib/postgresql';

export interface Account {
  uid: number;
  gid: number;
}

/** The folder of the programs of Debian's newest PostgreSQL; undefined if none is installed. */
export async function findInstalledPostgres(): Promise<string | undefined> {
  const majors = (await readdir(home).catch(() => [])).map(Number).filter(Boolean);
  return majors.length === 0 ? undefined : join(home, String(Math.max(...majors)), 'bin');
}

/** The same; throws if none is installed. */
export async function installedPostgres(): Promise<string> {
  const bin = await findInstalledPostgres();
  if (bin === undefined) throw new Error(`there is no PostgreSQL in ${home}: apt-get install postgresql`);
  return bin;
}

/** The account that PostgreSQL runs as, because it refuses to run as root; undefined if this process is not root. */
export async function postgresAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const [, , uid, gid] = lines.find(([name]) => name === 'postgres') ?? lines.find(([name]) => name === 'nobody') ?? [];
  if (uid === undefined || gid === undefined)
    throw new Error('neither a user postgres nor nobody is there to run PostgreSQL');
  return { uid: Number(uid), gid: Number(gid) };
}
