import { execFile } from 'node:child_process';
import { appendFile, cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A change that a step may make to tables in use: adds to the busiest table of each schema. */
const additions = {
  'storage/postgres': {
    list: 'platformMigrations',
    tables: ['platform.change_log', 'platform.models', 'platform.idempotency_keys', 'platform.meta'],
  },
  access: {
    list: 'accessMigrations',
    tables: ['access.users', 'access.personal_tokens', 'access.sessions', 'access.organizations'],
  },
} as const;

/** A future version: a build with one more step for each schema, which must be compatible with this version. */
export async function nextBuild(build: string, folder: string): Promise<string> {
  const next = join(folder, 'next');
  await mkdir(next);
  for (const name of ['cmd', 'pkg', 'dist', 'package.json', 'tsconfig.json', 'config'])
    await cp(join(build, name), join(next, name), { recursive: true, dereference: true });
  await symlink(join(build, 'node_modules'), join(next, 'node_modules'));
  for (const [pkg, { list, tables }] of Object.entries(additions)) {
    const file = join(next, 'pkg', pkg, 'migrations.ts');
    const last = [...(await readFile(file, 'utf8')).matchAll(/name: '(\d{4}_\w+)'/g)].at(-1)?.[1];
    const statements = tables
      .map((table) => `await sql.raw('ALTER TABLE ${table} ADD COLUMN next_version text').execute(db);`)
      .join(' ');
    await appendFile(
      file,
      `\n${list}.push({ name: '9001_next', beside: '${last}', up: async (db) => { ${statements} } });\n`,
    );
  }
  await promisify(execFile)(process.execPath, [join(build, 'hack/builds/bundle.mjs'), next]);
  return next;
}
