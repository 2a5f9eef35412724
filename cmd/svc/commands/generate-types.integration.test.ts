import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pause } from '#pkg/apimachinery/index';
import { definePosts, startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { runCommandLine } from './command-line.ts';

let env: TestEnv;
let folder: string;

beforeAll(async () => {
  env = await startTestEnv();
  await definePosts(env);
  folder = await mkdtemp(join(tmpdir(), 'svc-generate-'));
  await writeFile(join(folder, 'token'), `${env.token}\n`);
  await writeFile(join(folder, 'wrong'), 'wrong');
  await writeFile(join(folder, 'empty'), '\n');
  await writeFile(join(folder, 'large'), 'x'.repeat(5000));
});
afterAll(async () => {
  await env?.stop();
  await rm(folder, { recursive: true, force: true });
});

function generate(out: string, args: readonly string[] = []): Promise<number> {
  return runCommandLine(
    [
      'generate',
      'types',
      `--server=${env.url}`,
      `--token-file=${join(folder, 'token')}`,
      `--out=${join(folder, out)}`,
      ...args,
    ],
    {},
  );
}

async function filesIn(out: string): Promise<string[]> {
  const entries = await readdir(join(folder, out), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, out).length + 1))
    .toSorted();
}

describe('svc generate types', () => {
  test('writes what definitions declare', async () => {
    expect(await generate('all')).toBe(0);
    expect(await filesIn('all')).toEqual(['test.example.com/v1.ts']);
    const text = await readFile(join(folder, 'all/test.example.com/v1.ts'), 'utf8');
    expect(text).toContain("import type * as svc from '@svc/sdk';\n");
    expect(text).toContain('export interface PostSpec {\n  author?: string;\n  title: string;\n}\n');
    expect(text).toContain('export class PostClient {');
  });

  test('keeps an up-to-date file, and corrects another', async () => {
    await generate('again');
    const file = join(folder, 'again/test.example.com/v1.ts');
    const [text, { ino }] = [await readFile(file, 'utf8'), await stat(file)];
    await generate('again');
    expect((await stat(file)).ino).toBe(ino);
    await writeFile(file, 'edited');
    await generate('again');
    expect(await readFile(file, 'utf8')).toBe(text);
    expect(await filesIn('again')).toHaveLength(1);
  });

  test('writes for a browser, and again after each change, until it is interrupted', async () => {
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/posts.test.example.com';
    const file = join(folder, 'browser/test.example.com/v1.ts');
    const done = generate('browser', ['--target=browser', '--watch']);
    const read = (): Promise<string> => readFile(file, 'utf8').catch(() => '');
    while (!(await read()).includes('export const Post: svc.WebModel<Post, PostIndexes> = {')) await pause(20);
    const definition = (await (await env.request(definitions)).json()) as {
      spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: object } } } } }[] };
    };
    Object.assign(definition.spec.versions[0]!.schema.openAPIV3Schema.properties.spec.properties, {
      subtitle: { type: 'string' },
    });
    expect((await env.request(definitions, { method: 'PUT', body: definition })).status).toBe(200);
    while (!(await read()).includes('subtitle?: string;')) await pause(20);
    process.emit('SIGINT', 'SIGINT');
    expect(await done).toBe(130);
  });

  test('writes the requested types, also those of the server itself', async () => {
    expect(
      await generate('some', [
        '--model=leases.coordination.k8s.io',
        '--model=namespaces',
        '--group=test.example.com',
        '--sdk=../sdk.ts',
      ]),
    ).toBe(0);
    expect(await filesIn('some')).toEqual(['coordination.k8s.io/v1.ts', 'core/v1.ts', 'test.example.com/v1.ts']);
    expect(await readFile(join(folder, 'some/core/v1.ts'), 'utf8')).toContain("from '../sdk.ts';");
  });

  const refused: [string, string[], RegExp][] = [
    [
      'an unknown model',
      ['--model=tags.test.example.com'],
      /^The server has no model "tags\.test\.example\.com"; models are named <plural>\.<group>\.$/,
    ],
    [
      'an unknown group',
      ['--group=nowhere.example.com'],
      /^The server has no models in the group "nowhere\.example\.com"\.$/,
    ],
    ['no URL', ['--server=here'], /^--server is not the URL of a server/],
    ['another scheme', ['--server=file:///etc'], /^--server is not the URL of a server/],
    [
      'an unavailable server',
      ['--server=http://127.0.0.1:1'],
      /^The models of http:\/\/127\.0\.0\.1:1 cannot be read: .* \(503\)\.$/,
    ],
    ['a wrong token', ['--token-file=wrong'], /^The models of .* cannot be read: Unauthorized \(401\)\.$/],
    [
      'no file',
      ['--token-file=absent'],
      /^The token cannot be read from .*absent \(ENOENT\); name its file with --token-file\.$/,
    ],
    ['an empty file', ['--token-file=empty'], /empty holds no token\.$/],
    ['a large file', ['--token-file=large'], /large is too large for a token\.$/],
  ];
  test.each(refused)('refuses %s in one sentence', async (_case, args, sentence) => {
    const placed = args.map((arg) => arg.replace(/^--token-file=/, `--token-file=${folder}/`));
    await expect(generate('refused', placed)).rejects.toMatchObject({
      name: 'OperatorError',
      message: expect.stringMatching(sentence),
    });
  });
});
