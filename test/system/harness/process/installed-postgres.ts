import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Debian has a folder for each major version. */
const home = '/usr/lib/postgresql';

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
