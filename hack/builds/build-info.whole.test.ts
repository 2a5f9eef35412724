import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import validVersion from 'semver/functions/valid.js';
import { buildInfo, writeBuildInfo } from './build-info.mjs';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-build-info-'));
  mkdirSync(join(folder, 'cmd'));
  writeFileSync(join(folder, 'package.json'), '{"version":"2.22.0"}');
  writeFileSync(join(folder, 'cmd/main.ts'), '');
});
afterEach(() => rmSync(folder, { recursive: true }));

function git(...args: string[]): string {
  return execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
    cwd: folder,
    encoding: 'utf8',
  }).trim();
}

function commit(): string {
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'x');
  return git('rev-parse', 'HEAD');
}

test('a commit has its own version, also with changes, and another commit another', () => {
  const first = commit();
  expect(buildInfo(folder, {})).toEqual({ version: `2.22.0+${first.slice(0, 12)}`, commit: first });
  writeFileSync(join(folder, 'README.md'), 'not built');
  expect(buildInfo(folder, {}).version).not.toContain('dirty');
  writeFileSync(join(folder, 'cmd/new.ts'), '');
  const { version } = buildInfo(folder, {});
  expect(version).toBe(`2.22.0+${first.slice(0, 12)}.dirty`);
  expect(validVersion(version)).toBe('2.22.0');
  git('add', '.');
  git('commit', '--quiet', '--message', 'y');
  expect(buildInfo(folder, {}).version).not.toBe(`2.22.0+${first.slice(0, 12)}`);
});

test('a tag of a version names its commit, without changes', () => {
  const tagged = commit();
  git('tag', 'v2.22.1');
  git('tag', 'nightly');
  expect(buildInfo(folder, {})).toEqual({ version: '2.22.1', commit: tagged });
  appendFileSync(join(folder, 'cmd/main.ts'), ' ');
  expect(buildInfo(folder, {}).version).toBe(`2.22.0+${tagged.slice(0, 12)}.dirty`);
});

test('of several tags the highest version counts, and a release counts more than its candidates', () => {
  commit();
  for (const tag of ['v2.22.2-rc.2', 'v2.22.2-rc.10', 'v2.22.1']) git('tag', tag);
  expect(buildInfo(folder, {}).version).toBe('2.22.2-rc.10');
  git('tag', 'v2.22.2');
  expect(buildInfo(folder, {}).version).toBe('2.22.2');
});

test('without its own repository it is only the version', () => {
  expect(buildInfo(folder, {})).toEqual({ version: '2.22.0', commit: '' });
  // An unpacked tarball inside another repository.
  const inner = join(folder, 'vendor');
  mkdirSync(inner);
  writeFileSync(join(inner, 'package.json'), '{"version":"2.22.0"}');
  commit();
  expect(buildInfo(inner, {})).toEqual({ version: '2.22.0', commit: '' });
});

test('a build without .git gets its commit from the environment', () => {
  commit();
  expect(buildInfo(folder, { BUILD_VERSION: '2.23.0', BUILD_COMMIT: 'abc' })).toEqual({
    version: '2.23.0',
    commit: 'abc',
  });
  expect(buildInfo(folder, { BUILD_VERSION: '2.23.0' })).toEqual({ version: '2.23.0', commit: '' });
});

test('`npm run dev` shows its commit, and whether it was changed', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { dev: string } };
  // Prints the version without starting the program.
  const print =
    "import('./cmd/svc/process/svc-version.ts').then(({ svcBuild }) => console.log(JSON.stringify(svcBuild())))";
  const command = scripts.dev.replace(' --watch cmd/svc/main.ts serve', ` --eval "${print}"`);
  const { BUILD_VERSION: _version, BUILD_COMMIT: _commit, ...env } = process.env;
  const { version, commit: gitCommit } = buildInfo(root, {});
  expect(JSON.parse(execFileSync('sh', ['-c', command], { cwd: root, env, encoding: 'utf8' }))).toEqual({
    svcVersion: version,
    gitCommit,
  });
});

test('the program reports the build info next to it', async () => {
  const own = commit();
  writeBuildInfo(folder, {});
  writeBuildInfo(folder, {});
  expect(JSON.parse(readFileSync(join(folder, 'dist/build.json'), 'utf8'))).toEqual({
    version: `2.22.0+${own.slice(0, 12)}`,
    commit: own,
  });
  // The path of the compiled file.
  mkdirSync(join(folder, 'dist/cmd/svc/process'), { recursive: true });
  const source = readFileSync(fileURLToPath(new URL('../../cmd/svc/process/svc-version.ts', import.meta.url)), 'utf8');
  writeFileSync(join(folder, 'dist/cmd/svc/process/svc-version.mts'), source);
  const print = `const { svcBuild } = await import(${JSON.stringify(pathToFileURL(join(folder, 'dist/cmd/svc/process/svc-version.mts')).href)}); console.log(JSON.stringify(svcBuild()));`;
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const printed = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', print], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(JSON.parse(printed)).toEqual({ svcVersion: `2.22.0+${own.slice(0, 12)}`, gitCommit: own });
});
