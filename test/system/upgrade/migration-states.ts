import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import type { Milestone } from './landings.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const files = ['pkg/storage/postgres/migrations.ts', 'pkg/access/migrations.ts'];
/** Before this file existed, no program could create a database. */
const program = 'cmd/svc/main.ts';

/** States of the lists of migrations in any commit with a program that no landing covers: names of steps, by commit. */
export async function uncoveredStates(landings: readonly Milestone[]): Promise<Map<string, string>> {
  const covered = new Set(await Promise.all(landings.map(({ commit }) => stateOf(commit))));
  covered.add(await stateOf('HEAD'));
  const commits = (await git('log', '--format=%H', '--reverse', 'HEAD', '--', ...files, program))
    .split('\n')
    .filter((line) => line !== '');
  const missing = new Map<string, string>();
  for (const commit of commits) {
    if ((await git('ls-tree', '--name-only', commit, '--', program)) === '') continue;
    const state = await stateOf(commit);
    if (!covered.has(state)) missing.set(commit, state);
  }
  return missing;
}

async function stateOf(commit: string): Promise<string> {
  const texts = await Promise.all(files.map((file) => git('show', `${commit}:${file}`)));
  return texts
    .map((text) => [...text.matchAll(/\bname: '(\d{4}_[a-z0-9_]+)'/g)].map(([, name]) => name).join(' '))
    .join(' | ');
}

async function git(...args: string[]): Promise<string> {
  return (await run('git', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 })).stdout.trim();
}
