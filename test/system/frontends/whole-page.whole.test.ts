import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { parse } from 'yaml';
import { databaseUrlOf, killPrograms, startServe, type Served } from '../../../cmd/svc/start-test-program.ts';
import { clientModule } from '../../../hack/builds/bundle-client.mjs';
import { complaintsOf, startBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { describeInBrowser } from '../../../pkg/access/pages/pagetest/describe-in-browser.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';

const documented = 'http://127.0.0.1:8090';
const posts = '/apis/blog.example.com/v1/posts';

/** A file that a command block of docs/frontends.md writes. */
async function fileOfDocs(name: string): Promise<string> {
  const docs = await readFile('docs/frontends.md', 'utf8');
  const text = new RegExp(`^cat > data/frontend/${name} <<'(\\w+)'\\n(.*?)^\\1$`, 'ms').exec(docs)?.[2];
  if (text === undefined) throw new Error(`docs/frontends.md writes no ${name}`);
  return text;
}

describeInBrowser('the whole page of docs/frontends.md', () => {
  let folder: string;
  let database: TestDatabase;
  let site: Server;
  let origin: string;
  let served: Served;
  let browser: Browser;

  beforeAll(async () => {
    // PostgreSQL, which runs as another user if the tests run as root, must be able to enter.
    folder = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'svc-page-'));
    await chmod(folder, 0o711);
    const files = new Map<string, string>();
    site = createServer(({ url }, response) => {
      response.setHeader('Content-Type', url === '/' ? 'text/html' : 'text/javascript');
      response.end(files.get(url ?? ''));
    }).listen(0, '127.0.0.1');
    await once(site, 'listening');
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    database = await createTestDatabase();
    [served, browser] = await Promise.all([
      startServe(join(folder, 'data'), [
        `--svc.database.url=${databaseUrlOf(database)}`,
        `--svc.http.cors.allowed-origins=${origin}`,
      ]),
      startBrowser(),
    ]);
    files.set('/', (await fileOfDocs('www/index.html')).replace('<title>', '<link rel="icon" href="data:,"><title>'));
    files.set('/board.js', await bundle((await fileOfDocs('board.js')).replaceAll(documented, served.url)));
    await api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', await definition());
    await api('POST', posts, newPost('hello', 'Hello'));
  });

  afterAll(async () => {
    await browser?.close();
    await killPrograms();
    site?.close();
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  async function bundle(contents: string): Promise<string> {
    const client = join(folder, 'client.js');
    await writeFile(client, await clientModule("export * from './pkg/webclient/index.ts';"));
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: folder },
      alias: { '@svc/client': client },
      bundle: true,
      format: 'esm',
      write: false,
    });
    return outputFiles[0]!.text;
  }

  async function definition(): Promise<object> {
    return parse(await readFile('config/samples/posts-definition.yaml', 'utf8')) as object;
  }

  function newPost(name: string, title: string): object {
    return { apiVersion: 'blog.example.com/v1', kind: 'Post', metadata: { name }, spec: { title, slug: name } };
  }

  async function api(method: string, path: string, body: object): Promise<void> {
    const answer = await fetch(`${served.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${served.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(await answer.text());
  }

  async function openWindow(): Promise<{ page: Page; complaints: string[] }> {
    const page = await browser.newPage();
    const complaints = complaintsOf(page, origin);
    await page.goto(origin);
    await page.getByLabel('User').fill('admin');
    await page
      .getByLabel('Password')
      .fill((await readFile(join(folder, 'data/initial-admin-password'), 'utf8')).trim());
    await page.getByRole('button', { name: 'Log in' }).click();
    await untilShown(page, 'Hello');
    return { page, complaints };
  }

  async function untilShown(page: Page, title: string): Promise<void> {
    await page.waitForFunction(
      `[...document.querySelectorAll('li input')].some((input) => input.value === ${JSON.stringify(title)})`,
    );
  }

  test('two windows follow each other, and a conflict is decided', async () => {
    const [one, other] = [await openWindow(), await openWindow()];
    const field = (page: Page) => page.getByLabel('Title of hello');
    const save = (page: Page) => page.getByRole('button', { name: 'Save' }).first().click();

    await field(one.page).fill('From one');
    await save(one.page);
    await untilShown(other.page, 'From one');

    await field(other.page).fill('From the other');
    await field(one.page).fill('From one again');
    await save(one.page);
    await other.page.getByText('Somebody saved "From one again".').waitFor();
    await save(other.page);
    await other.page.getByRole('status').getByText('others changed the same fields').waitFor();
    await other.page.getByRole('button', { name: 'Take mine' }).click();
    await save(other.page);
    await untilShown(one.page, 'From the other');

    await api('POST', posts, newPost('another', 'Another'));
    await untilShown(one.page, 'Another');
    expect(await one.page.getByRole('listitem').locator('input').first().inputValue()).toBe('Another');
    // Only the server's address is asked besides the page's own; a page elsewhere cannot see whether there is a session.
    for (const { complaints } of [one, other])
      expect(
        complaints.filter((text) => !text.startsWith(`asks ${served.url}/`) && !/status of 401/.test(text)),
      ).toEqual([]);
  });
});
