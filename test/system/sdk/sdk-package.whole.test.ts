import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runCommandLine } from '../../../cmd/svc/commands/command-line.ts';
import { definePosts, startTestEnv, type TestEnv } from '../../../pkg/testenv/index.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** As somebody without a checkout has them: an empty folder, in which packages are installed from their archives. */
describe('@svc/sdk and @svc/client, packed and installed', () => {
  let env: TestEnv;
  let project: string;

  const node = async (...args: string[]): Promise<string> => {
    try {
      return (await run(process.execPath, args, { cwd: project })).stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      return `${stdout}${stderr}`;
    }
  };
  const compile = (file: string, ...options: string[]): Promise<string> =>
    node(
      join(repository, 'node_modules/typescript/bin/tsc'),
      ...'--strict --skipLibCheck --target es2023 --module nodenext --types node'.split(' '),
      ...options,
      file,
    );
  const install = async (name: string): Promise<void> => {
    const built = join(project, `built-${name}`);
    await run(process.execPath, [join(repository, `hack/builds/bundle-${name}.mjs`), built]);
    const { stdout } = await run('npm', ['pack', '--silent', built], { cwd: project });
    const folder = join(project, 'node_modules/@svc', name);
    mkdirSync(folder, { recursive: true });
    await run('tar', ['-xzf', stdout.trim(), '-C', folder, '--strip-components=1'], { cwd: project });
    rmSync(built, { recursive: true });
  };

  beforeAll(async () => {
    project = mkdtempSync(join(tmpdir(), 'sdk-package-'));
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
    mkdirSync(join(project, 'node_modules/@types'), { recursive: true });
    // What npm would fetch: the dependencies of the packages, and the types of Node.js.
    for (const name of ['typebox', 're2js', '@types/node', 'undici-types'])
      symlinkSync(join(repository, 'node_modules', name), join(project, 'node_modules', name));
    [env] = await Promise.all([startTestEnv(), install('sdk').then(() => install('client'))]);
    await definePosts(env);
    writeFileSync(join(project, 'token'), env.token);
  });
  afterAll(async () => {
    rmSync(project, { recursive: true, force: true });
    await env?.stop();
  });

  test('what `svc generate types` writes is compiled and runs', async () => {
    const args = [`--server=${env.url}`, `--token-file=${join(project, 'token')}`, `--out=${join(project, 'types')}`];
    expect(await runCommandLine(['generate', 'types', ...args], {})).toBe(0);
    writeFileSync(
      join(project, 'program.ts'),
      `import { RestClient, selectionOf } from '@svc/sdk';
import { Post, PostClient } from './types/test.example.com/v1.js';

const client = RestClient.connect({ url: ${JSON.stringify(env.url)}, token: ${JSON.stringify(env.token)} });
const posts = new PostClient(client);
await posts.create({ apiVersion: 'test.example.com/v1', kind: 'Post', metadata: { name: 'a' }, spec: { title: 'Typed' } });
await posts.patchStatus('a', { type: 'merge', patch: { status: { words: 1 } } });
const { items } = await posts.list(selectionOf(Post, { where: { 'metadata.name': { in: ['a', 'b'] } } }));
for (const { spec, status } of items) console.log(spec?.title, status?.words);
// @ts-expect-error -- the model has no index of this name
selectionOf(Post, { where: { 'spec.title': 'a' } });
client.close();
`,
    );
    expect(await compile('program.ts')).toBe('');
    expect(await node('program.js')).toBe('Typed 1\n');
  });

  test('a model in code is registered, and checks the selections of both clients', async () => {
    writeFileSync(
      join(project, 'models.ts'),
      `import { connect, live } from '@svc/client';
import { defineModel, index, multiIndex, registerModel, RestClient, selectionOf, Type } from '@svc/sdk';

const Book = defineModel({
  group: 'library.example.com', version: 'v1', kind: 'Book', plural: 'books', singular: 'book',
  spec: Type.Object({ title: Type.String(), pages: Type.Integer(), tags: Type.Array(Type.String()) }),
  indexes: [index('spec.pages'), multiIndex('spec.tags[*]', { name: 'tag' })],
});
const url = ${JSON.stringify(env.url)};
const token = ${JSON.stringify(env.token)};
const client = RestClient.connect({ url, token });
await registerModel(client, Book);
const books = connect({ url, credential: token }).resource(Book);
for (const pages of [100, 300])
  await books.create({ metadata: { name: \`book-\${pages}\` }, spec: { title: 'A', pages, tags: ['new'] } });
const { items } = await books.list({ where: { tag: 'new', 'spec.pages': { gt: 99 } }, sort: ['spec.pages,desc'] });
console.log(items.map(({ spec }) => spec.pages));
const long = await client.list(Book, selectionOf(Book, { where: { 'spec.pages': { gte: 200 } } }));
console.log(long.items.length);
client.close();

export const refused = (): unknown[] => [
  // @ts-expect-error -- no index has this name
  live(books, { where: { 'spec.title': 'A' } }),
  // @ts-expect-error -- a value of another type
  books.list({ where: { 'spec.pages': 'many' } }),
  // @ts-expect-error -- an order by a field without an index
  books.list({ sort: ['spec.title'] }),
];
`,
    );
    expect(await compile('models.ts')).toBe('');
    expect(await node('models.js')).toBe('[ 300, 100 ]\n1\n');
  });
});
