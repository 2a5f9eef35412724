import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withPathLock } from './with-path-lock.ts';
import { parseLock, satisfies } from './lock-file.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/svc-builds');
const installTimeoutMs = 10 * 60_000;
const compileTimeoutMs = 5 * 60_000;
/** Limit of the output of `git archive` and the compiler. */
const maxOutputBytes = 64 * 1024 * 1024;

export interface CommitBuild {
  /** 40 digits. */
  readonly commit: string;
  /** Its `node dist/cmd/svc/main.js` runs that commit's program. */
  readonly folder: string;
}

/**
 * Builds an earlier commit with its own compiler and packages, once: later calls use the cache, concurrent ones wait.
 * Leaves out the check of types, which that commit passed.
 * Uses our packages if they match its lock file, else installs its own. Throws an Error of one sentence if the commit
 * is missing, as in a shallow clone, or does not compile.
 */
export async function buildOfCommit(revision: string): Promise<CommitBuild> {
  const commit = await commitOf(revision);
  const folder = join(cache, commit);
  if (!existsSync(folder)) await withPathLock(folder, () => build(commit, folder));
  return { commit, folder };
}

/** Whether this clone has the commit; a shallow one may not. */
export function hasCommit(commit: string): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function commitOf(revision: string): Promise<string> {
  try {
    const { stdout } = await run(
      'git',
      ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`],
      { cwd: root },
    );
    return stdout.trim();
  } catch {
    throw new Error(`There is no commit ${revision} in this clone; fetch the whole history (git fetch --unshallow).`);
  }
}

/** Not below node_modules, where the compiler would treat the sources as a package's. */
async function build(commit: string, folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'svc-build-'));
  try {
    const archive = join(work, 'tree.tar');
    await run('git', ['archive', '--format=tar', `--output=${archive}`, commit], {
      cwd: root,
      maxBuffer: maxOutputBytes,
    });
    const tree = join(work, 'tree');
    await mkdir(tree);
    await run('tar', ['-xf', archive, '-C', tree]);
    await symlink(await modulesFor(commit), join(tree, 'node_modules'));
    await compile(tree, commit);
    await moveInto(tree, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function compile(tree: string, commit: string): Promise<void> {
  const compiler = join(tree, 'node_modules/typescript/bin/tsc');
  try {
    await run(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck'], {
      cwd: tree,
      timeout: compileTimeoutMs,
      maxBuffer: maxOutputBytes,
    });
    // Commits before it run the modules as the compiler writes them.
    const bundler = 'hack/builds/bundle.mjs';
    if (existsSync(join(tree, bundler)))
      await run(process.execPath, [bundler], { cwd: tree, timeout: compileTimeoutMs, maxBuffer: maxOutputBytes });
  } catch (error) {
    throw new Error(`Commit ${commit} does not compile:\n${(error as { stdout?: string }).stdout ?? String(error)}`, {
      cause: error,
    });
  }
}

/** The packages that a commit is compiled and run with. */
async function modulesFor(commit: string): Promise<string> {
  const text = await show(commit, 'package-lock.json');
  const ours = join(root, 'node_modules');
  if (satisfies(parseLock(await readFile(join(root, 'package-lock.json'), 'utf8')), parseLock(text))) return ours;
  const folder = join(cache, `modules-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`);
  if (!existsSync(folder)) await withPathLock(folder, () => install(commit, text, folder));
  return join(folder, 'node_modules');
}

async function show(commit: string, path: string): Promise<string> {
  return (await run('git', ['show', `${commit}:${path}`], { cwd: root, maxBuffer: maxOutputBytes })).stdout;
}

async function install(commit: string, lock: string, folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'svc-modules-'));
  try {
    await writeFile(join(work, 'package-lock.json'), lock);
    await writeFile(join(work, 'package.json'), await show(commit, 'package.json'));
    await run('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], {
      cwd: work,
      timeout: installTimeoutMs,
      maxBuffer: maxOutputBytes,
    });
    await moveInto(work, folder);
  } catch (error) {
    throw new Error(
      `The packages of commit ${commit} cannot be installed: ${(error as { stderr?: string }).stderr ?? String(error)}`,
      { cause: error },
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Atomic, even from another file system. */
async function moveInto(from: string, folder: string): Promise<void> {
  const partial = `${folder}.partial-${process.pid}`;
  await rm(partial, { recursive: true, force: true });
  await cp(from, partial, { recursive: true, verbatimSymlinks: true });
  await rename(partial, folder);
}
