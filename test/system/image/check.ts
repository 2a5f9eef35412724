/**
 * Builds deploy/Dockerfile twice without a registry and a container daemon, checks the image's content, and runs it.
 * `make imagecheck`: as root on Linux, with buildah and mmdebstrap; uses the npm registry and Debian's mirror. On
 * other machines it prints why not and exits with 0, or with 1 if CI=true. `--once` builds once without comparing.
 */
import { spawnSync } from 'node:child_process';
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Buildah } from './buildah.ts';
import { checkContents } from './check-contents.ts';
import { checkRunning } from './check-running.ts';
import { baseImages, buildArguments, dockerfile, repository } from '../../../hack/image/dockerfile.ts';
import { buildInfo, type BuildInfo } from '../../../hack/builds/build-info.mjs';
import { digestTree, listTree } from './file-tree.ts';
import { makeBases } from './local-bases.ts';
import { npmMounts } from './npm-settings.ts';

const largestBytes = 200_000_000;
/** The time of every file, so that two builds are equal. */
const timestamp = '0';
const firstTag = 'localhost/svc:first';
const secondTag = 'localhost/svc:second';
const isBuiltOnce = process.argv.includes('--once');

interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
}

const began = performance.now();

function say(text: string): void {
  process.stdout.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}\n`);
}

function missing(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'it needs Linux on x64';
  if (process.getuid?.() !== 0) return 'it needs root';
  const absent = ['buildah', 'mmdebstrap', 'unshare', 'chroot'].filter(
    (program) => spawnSync(program, ['--version']).error !== undefined,
  );
  return absent.length === 0 ? undefined : `it needs ${absent.join(' and ')}`;
}

async function check(folder: string): Promise<string[]> {
  const buildah = new Buildah(join(folder, 'buildah'));
  try {
    // A snapshot, because the files may change meanwhile.
    const context = join(folder, 'context');
    await cp(repository, context, {
      recursive: true,
      filter: (path) => !['node_modules', '.git', 'dist', 'data'].includes(relative(repository, path)),
    });
    const mounts = await npmMounts(folder);
    const told = buildInfo(repository);
    await makeBases(buildah, await baseImages(), folder);
    say('built the base images');
    const build = async (tag: string): Promise<string> => {
      await buildah.call(
        'build',
        '--isolation',
        'chroot',
        '--network',
        'host',
        '--pull-never',
        '--timestamp',
        timestamp,
        ...mounts,
        ...buildArguments(told),
        '--file',
        join(context, relative(repository, dockerfile)),
        '--tag',
        tag,
        context,
      );
      const id = await buildah.call('inspect', '--type', 'image', '--format', '{{.FromImageID}}', tag);
      say(`built: ${id.slice(0, 12)}`);
      return id;
    };
    const first = await build(firstTag);
    const { name, root } = await buildah.container(firstTag);
    const [failures, second] = await Promise.all([
      examine(buildah, root, folder, told),
      isBuiltOnce ? first : build(secondTag),
    ]);
    if (second !== first) failures.push(...(await difference(root, (await buildah.container(secondTag)).root)));
    await buildah.call('rm', name);
    return failures;
  } finally {
    await buildah.close();
  }
}

/** All facts about the image of one build. */
async function examine(buildah: Buildah, root: string, folder: string, told: BuildInfo): Promise<string[]> {
  const config = await configOf(buildah);
  const failures = [
    ...(await checkSize(buildah)),
    ...checkConfig(config, told),
    ...(await checkContents(await listTree(root))),
  ];
  say('checked its contents');
  const environment = Object.fromEntries(config.Env.map((variable) => variable.split(/=(.*)/s, 2) as [string, string]));
  await checkRunning(
    { root, entrypoint: config.Entrypoint, environment, workingDirectory: config.WorkingDir },
    { folder, told, say },
  ).catch((error: unknown) => failures.push((error as Error).message));
  return failures;
}

async function checkSize(buildah: Buildah): Promise<string[]> {
  const [base = 0, ...own] = await buildah.layerSizes(firstTag);
  const ours = own.reduce((sum, size) => sum + size, 0);
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  say(`compressed: ${megabytes(ours)}, plus ${megabytes(base)} of the base image`);
  return base + ours < largestBytes ? [] : [`it has ${megabytes(base + ours)}, above ${megabytes(largestBytes)}`];
}

async function configOf(buildah: Buildah): Promise<ImageConfig> {
  const image = JSON.parse(await buildah.call('inspect', '--type', 'image', firstTag)) as {
    OCIv1: { config: ImageConfig };
  };
  return image.OCIv1.config;
}

function checkConfig(
  { User, Entrypoint, Cmd, WorkingDir, Labels }: ImageConfig,
  { version, commit }: BuildInfo,
): string[] {
  const expected = {
    User: '10001:10001',
    Entrypoint: ['node', '--enable-source-maps', 'dist/cmd/svc/main.js'],
    Cmd: ['apiserver'],
    WorkingDir: '/app',
  };
  const found = JSON.stringify({ User, Entrypoint, Cmd, WorkingDir });
  return [
    ...(found === JSON.stringify(expected) ? [] : [`its configuration is ${found}`]),
    ...(Labels['org.opencontainers.image.licenses'] === 'Apache-2.0' ? [] : ['it has no labels']),
    ...(Labels['org.opencontainers.image.version'] === version && Labels['org.opencontainers.image.revision'] === commit
      ? []
      : ['its labels do not name its build']),
  ];
}

async function difference(first: string, second: string): Promise<string[]> {
  const [before, after] = [await digestTree(first), await digestTree(second)];
  const known = new Set(before);
  const changed = after.filter((line) => !known.has(line));
  const files =
    changed.length === 0 && before.length === after.length
      ? ['their files are equal, their configurations differ']
      : changed.slice(0, 10);
  return [`two builds differ: ${files.join('\n')}`];
}

async function main(): Promise<number> {
  const reason = missing();
  if (reason !== undefined) {
    process.stderr.write(`WARNING: the image is not checked: ${reason}.\n`);
    return process.env['CI'] === 'true' ? 1 : 0;
  }
  const folder = await mkdtemp(join(tmpdir(), 'svc-image-'));
  // PostgreSQL's user must be able to enter.
  await chmod(folder, 0o711);
  try {
    const failures = await check(folder);
    for (const failure of failures) process.stdout.write(`FAILED ${failure}\n`);
    say(failures.length === 0 ? 'the image passed all checks' : `${failures.length} FAILED`);
    return failures.length === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
