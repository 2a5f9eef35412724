import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { baseImages, buildArguments, dockerfile, readDockerfile, repository } from './dockerfile.ts';

const run = promisify(execFile);
const instructions = await readDockerfile();
const textsOf = (name: string): string[] =>
  instructions.filter((instruction) => instruction.name === name).map(({ text }) => text);

test('the linter finds no fault', async () => {
  // It does not resolve ARGs in image names.
  const { node, base } = await baseImages();
  const text = (await readFile(dockerfile, 'utf8'))
    .replaceAll(/^ARG .*\n/gm, '')
    .replace('${NODE_IMAGE}', node)
    .replace('${BASE_IMAGE}', base);
  const folder = await mkdtemp(join(tmpdir(), 'svc-dockerfile-'));
  try {
    await writeFile(join(folder, 'Dockerfile'), text);
    const { stdout } = await run(process.execPath, [
      join(repository, 'node_modules/dockerfilelint/bin/dockerfilelint'),
      '--output',
      'json',
      join(folder, 'Dockerfile'),
    ]).catch((error: { stdout: string }) => error);
    const { files } = JSON.parse(stdout) as { files: { issues: object[] }[] };
    expect(files.map(({ issues }) => issues)).toEqual([[]]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe('our own rules', () => {
  test('two stages have a named version each, and one Debian, because the binary of Node.js is linked with its libraries', async () => {
    const { node, base } = await baseImages();
    expect(node).toMatch(/^docker\.io\/library\/node:\d+\.\d+\.\d+-[a-z]+-slim$/);
    expect(base).toBe(`docker.io/library/debian:${/-([a-z]+)-slim$/.exec(node)?.[1]}-slim`);
    expect(textsOf('FROM')).toEqual(['${NODE_IMAGE} AS build', '${BASE_IMAGE}']);
  });

  test.each([
    [
      'packages as the lock file has them, and nothing that they would run',
      textsOf('RUN'),
      [/^npm ci --ignore-scripts$/, /npm prune --omit=dev --ignore-scripts/],
    ],
    ['another user than root, by number: Kubernetes cannot look at names', textsOf('USER'), [/^10001:10001$/]],
    [
      'started without a shell, so that signals arrive',
      textsOf('ENTRYPOINT'),
      [/^\["node", "--enable-source-maps", "dist\/cmd\/svc\/main\.js"\]$/],
    ],
    ['every port', textsOf('EXPOSE'), [/^8090 8091 8092 8443 8444$/]],
    ['SIGTERM, which is the default', textsOf('STOPSIGNAL'), []],
    ['nothing fetched that is not checked', textsOf('ADD'), []],
  ])('%s', (_reason, texts, expected) => {
    expect(texts).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
  });

  test('labels identify the build; without build arguments they are those of package.json', async () => {
    const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string };
    expect(textsOf('ARG')).toEqual(expect.arrayContaining([`BUILD_VERSION=${version}`, 'BUILD_COMMIT']));
    const [labels] = textsOf('LABEL');
    expect(labels).toContain('org.opencontainers.image.version="${BUILD_VERSION}"');
    expect(labels).toContain('org.opencontainers.image.revision="${BUILD_COMMIT}"');
    expect(buildArguments({ version: '2.22.0+1', commit: '1' })).toEqual([
      '--build-arg',
      'BUILD_VERSION=2.22.0+1',
      '--build-arg',
      'BUILD_COMMIT=1',
    ]);
  });

  test('nothing runs in the last stage, because its base may have no shell', () => {
    const last = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
    expect(last.map(({ name }) => name)).not.toContain('RUN');
  });

  test('.dockerignore lets through what is copied, and nothing else', async () => {
    const ignored = (await readFile(join(repository, '.dockerignore'), 'utf8'))
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    const copied = textsOf('COPY')
      .filter((text) => !text.startsWith('--from'))
      .flatMap((text) => text.split(' ').slice(0, -1));
    expect(ignored[0]).toBe('*');
    expect(ignored.filter((line) => line.startsWith('!')).toSorted()).toEqual(
      copied.map((path) => `!${path}`).toSorted(),
    );
  });
});
