import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { clientModule } from './bundle-client.mjs';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

/** What a page loads that uses this much of the client. Bytes, minified, by gzip. */
test.each([
  ['connect', 5_250, ''],
  ['connect, live', 7_500, ''],
  ['connect, live, edit', 9_500, ''],
  ['connect, live, edit, and the hooks of React', 10_900, "export * from './pkg/webclient/react/index.ts';"],
  ['connect, live, and a worker', 8_800, "export { sharedWorkerFeeds } from './pkg/webclient/worker/index.ts';"],
])('%s is at most %i bytes', async (names, limit, hooks) => {
  const used = names.split(', ').filter((name) => !name.includes(' '));
  const text = await clientModule(`export { ${used.join()} } from './pkg/webclient/index.ts'; ${hooks}`, {
    minify: true,
  });
  expect(gzipSync(text, { level: 9 }).length).toBeLessThanOrEqual(limit);
});

describe('the package', () => {
  let project: string;
  beforeAll(async () => {
    project = mkdtempSync(join(tmpdir(), 'client-package-'));
    mkdirSync(join(project, 'node_modules/@svc'), { recursive: true });
    await run(process.execPath, [join(repository, 'hack/builds/bundle-client.mjs'), join(project, 'client')]);
    symlinkSync(join(project, 'client'), join(project, 'node_modules/@svc/client'));
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  });
  afterAll(() => rmSync(project, { recursive: true }));

  test('loads in Node.js, and connects to nothing by itself', async () => {
    const text =
      "import { connect, live, edit, StatusError } from '@svc/client'; import { openPage } from '@svc/client/page'; console.log(typeof connect({}).resource, typeof live, typeof edit, typeof openPage, StatusError.name);";
    writeFileSync(join(project, 'load.js'), text);
    const { stdout } = await run(process.execPath, ['load.js'], { cwd: project });
    expect(stdout).toBe('function function function function StatusError\n');
  });

  test('shares its modules with the hooks of React, which are loaded only by pages that use them', async () => {
    symlinkSync(join(repository, 'node_modules/react'), join(project, 'node_modules/react'));
    const text =
      "import { StatusError } from '@svc/client'; import * as hooks from '@svc/client/react'; console.log(Object.keys(hooks).join(), StatusError.name);";
    writeFileSync(join(project, 'load-hooks.js'), text);
    const { stdout } = await run(process.execPath, ['load-hooks.js'], { cwd: project });
    expect(stdout).toBe('useCan,useEdit,useLive,useObject StatusError\n');
    expect(readFileSync(join(project, 'client/index.js'), 'utf8')).not.toContain('useSyncExternalStore');
    expect(readFileSync(join(project, 'client/react.js'), 'utf8')).not.toContain('class StatusError');
    expect(readFileSync(join(project, 'client/index.js'), 'utf8')).not.toContain('svc feeds');
  });

  const page = (body: string): string => `
import { connect, live, edit, type ApiObject, type WebModel } from '@svc/client';
import { openPage } from '@svc/client/page';
import { sharedWorkerFeeds } from '@svc/client/worker';
type Post = ApiObject<{ title: string }>;
const post: WebModel<Post, { 'spec.title': string; 'spec.likes': number }> = {
  group: 'blog.example.com', version: 'v1', kind: 'Post', plural: 'posts', namespaced: false, hasStatusSubresource: true,
};
const feeds = sharedWorkerFeeds(() => new SharedWorker(new URL('./worker.js', import.meta.url), { type: 'module' }));
const posts = connect({ feeds }).resource(post);
export const openInConsole = async (): Promise<string[]> => {
  const { server, place } = await openPage();
  const { items } = await server.resource(post).list({ where: { 'spec.title': place } });
  return items.map(({ spec }) => spec?.title ?? '');
};
export const use = async (): Promise<unknown> => { ${body} };
`;
  const check = async (text: string, resolution: string[]): Promise<string> => {
    writeFileSync(join(project, 'page.ts'), text);
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--target',
      'es2022',
      '--lib',
      'es2023,dom',
      '--types',
      '',
      ...resolution,
    ];
    return run(process.execPath, [compiler, ...options, 'page.ts'], { cwd: project }).then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    );
  };

  test.each([
    ['a bundler', ['--module', 'esnext', '--moduleResolution', 'bundler']],
    ['Node.js', ['--module', 'nodenext']],
  ])('has types for %s', async (_reason, resolution) => {
    const body = `
      const list = live(posts, { where: { 'spec.title': { prefix: 'A' }, 'spec.likes': { gte: 3 } } });
      const { items } = await posts.list({ sort: ['spec.likes,desc', 'metadata.name'], labels: { lang: 'en' } });
      const editing = edit(posts, items[0]!);
      editing.draft.spec!.title = 'x';
      await posts.create({ metadata: { name: 'a' }, spec: { title: 'a' } });
      return [list.current[0]?.spec?.title, await editing.save()];`;
    expect(await check(page(body), resolution)).toBe('');
  });

  test.each([
    ['an index that is none', "posts.list({ where: { 'spec.titel': 'x' } })", "'spec.titel'' does not exist"],
    ['a value of another type', "posts.list({ where: { 'spec.likes': 'x' } })", "'string' is not assignable"],
    ['an order by a field without an index', "posts.list({ sort: ['spec.words'] })", '"spec.words"'],
    ['a spec with another field', "posts.create({ metadata: {}, spec: { titel: 'x' } })", "'titel' does not exist"],
  ])('does not compile for %s', async (_reason, call, message) => {
    const output = await check(page(`return ${call};`), ['--module', 'esnext', '--moduleResolution', 'bundler']);
    expect(output).toContain(message);
  });
});
