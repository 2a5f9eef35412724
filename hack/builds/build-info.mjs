/**
 * Writes the version of this build to `dist/build.json`: { version, commit }. `npm run build` and `npm start` run it;
 * the program reads the file. The version is that of a tag on the commit (v2.22.1), else that of package.json with the
 * commit as build metadata: 2.22.0+1ebebde0a1b2, and 2.22.0+1ebebde0a1b2.dirty if the sources differ from the commit.
 * Without this repository's own .git it is package.json's alone. BUILD_VERSION and BUILD_COMMIT set it for a build
 * without .git, such as that of the image, and for a program that runs from its sources (dev-build.mjs).
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const shortCommitDigits = 12;
/** The inputs of the build. */
export const buildInputs = [
  'cmd',
  'pkg',
  'hack/builds/bundle.mjs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];
const release = /^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/;

/**
 * Whether a file or folder has changed since `time`, in milliseconds. Checks folders too: removing or renaming a file
 * changes only its folder.
 */
export function isNewer(path, time) {
  const entry = statSync(path);
  if (entry.mtimeMs >= time) return true;
  return entry.isDirectory() && readdirSync(path).some((name) => isNewer(join(path, name), time));
}

export function buildInfo(root = repository, env = process.env) {
  if (env.BUILD_VERSION) return { version: env.BUILD_VERSION, commit: env.BUILD_COMMIT ?? '' };
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return ofGit(root, version) ?? { version, commit: '' };
}

/** Undefined without git, or if the folder is inside another repository. */
function ofGit(root, version) {
  try {
    const [top, commit] = git(root, 'rev-parse', '--show-toplevel', 'HEAD').split('\n');
    if (realpathSync(top) !== realpathSync(root)) return undefined;
    const isDirty = git(root, 'status', '--porcelain', '--', ...buildInputs) !== '';
    // The suffix puts v2.22.2-rc.1 before v2.22.2.
    const tags = git(root, '-c', 'versionsort.suffix=-', 'tag', '--points-at', 'HEAD', '--sort=version:refname')
      .split('\n')
      .flatMap((tag) => release.exec(tag)?.[1] ?? []);
    const tagged = tags.at(-1);
    if (tagged !== undefined && !isDirty) return { version: tagged, commit };
    return { version: `${version}+${commit.slice(0, shortCommitDigits)}${isDirty ? '.dirty' : ''}`, commit };
  } catch {
    return undefined;
  }
}

function git(root, ...args) {
  return execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 30_000,
    env: { ...process.env, GIT_OPTIONAL_LOCKS: '0' },
  }).trim();
}

/** Atomic, because a server may be starting at the same time. */
export function writeBuildInfo(root = repository, env = process.env) {
  const folder = join(root, 'dist');
  const file = join(folder, 'build.json');
  const text = `${JSON.stringify(buildInfo(root, env))}\n`;
  if (readIfThere(file) === text) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeBuildInfo();
