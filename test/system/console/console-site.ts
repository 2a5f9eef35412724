import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import type { Browser, BrowserContext, BrowserContextOptions, Cookie, Page } from 'playwright-core';
import { databaseUrlOf, killPrograms, startServe, type Served } from '../../../cmd/svc/start-test-program.ts';
import { buildConsole, isConsoleBuilt } from '../../../hack/builds/build-console.mjs';
import { accessibilityFaults, complaintsOf, startBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { withPathLock } from '../harness/build/with-path-lock.ts';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const dist = join(repository, 'console/dist');

interface ConsoleSiteParts {
  folder: string;
  database: TestDatabase;
  served: Served;
  browser: Browser;
  args: readonly string[];
}

interface Visitor {
  user?: string;
  password?: string;
  isNewSession?: boolean;
  /** Which page. Default: the console. */
  at?: '/console' | '/uc';
  /** Complaints that are the point of the visit. Default: none. */
  expected?: RegExp;
  /** The screen, and how it is touched. Default: a desktop. */
  device?: BrowserContextOptions;
}

/** `svc serve` with the console as it is built now, and a browser. */
export class ConsoleSite {
  readonly dist = dist;
  readonly #folder: string;
  readonly #database: TestDatabase;
  #served: Served;
  readonly #browser: Browser;
  readonly #args: readonly string[];
  #session: Promise<Record<string, string>> | undefined;
  /** Those of the administrator's session in a browser. */
  #cookies: Cookie[] = [];

  private constructor({ folder, database, served, browser, args }: ConsoleSiteParts) {
    this.#folder = folder;
    this.#database = database;
    this.#served = served;
    this.#browser = browser;
    this.#args = args;
  }

  /** `args`: more options of `svc serve`. */
  static async start(args: readonly string[] = []): Promise<ConsoleSite> {
    // PostgreSQL, which runs as another user if the tests run as root, must be able to enter.
    const folder = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'svc-console-'));
    await chmod(folder, 0o711);
    const database = await createTestDatabase();
    await buildOnce();
    const all = [`--svc.database.url=${databaseUrlOf(database)}`, ...args];
    const [served, browser] = await Promise.all([startServe(join(folder, 'data'), all), startBrowser()]);
    return new ConsoleSite({ folder, database, served, browser, args: all });
  }

  get url(): string {
    return this.#served.url;
  }

  /** The administrator's token. */
  get token(): string {
    return this.#served.token;
  }

  async adminPassword(): Promise<string> {
    return (await readFile(join(this.#folder, 'data/initial-admin-password'), 'utf8')).trim();
  }

  /** As the administrator, past the console. */
  async api(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.#served.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#served.token}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(json)}`);
    return json;
  }

  /** A new person, who can log in with the returned password. */
  async addUser(username: string): Promise<string> {
    const password = 'three wet boots';
    await this.accessApi('POST', '/api/v1/users/users/', {
      username,
      name: username,
      password,
      email: `${username}@example.com`,
    });
    return password;
  }

  /** The user may look at everything, and change nothing. */
  async letView(username: string): Promise<void> {
    await this.api('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: username },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'User', name: username, apiGroup: 'rbac.authorization.k8s.io' }],
    });
  }

  /** As the administrator, past the console: a path of access management. Undefined for an answer without a body. */
  async accessApi(method: string, path: string, body?: unknown): Promise<unknown> {
    this.#session ??= this.#beginSession();
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(await this.#session) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  async #beginSession(): Promise<Record<string, string>> {
    const session = await fetch(`${this.url}/api/v1/authentication/sessions/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'admin', password: await this.adminPassword() }),
    });
    const { csrf_token: token } = (await session.json()) as { csrf_token: string };
    const cookie = session.headers
      .getSetCookie()
      .map((text) => text.split(';')[0])
      .join('; ');
    return { 'x-csrftoken': token, cookie };
  }

  /**
   * What a person does in a browser of their own. The administrator is logged in by an earlier visit, unless
   * `isNewSession`. Fails also on an error or a warning in the console, which is how a violation of the policy shows, on
   * an error that nobody caught, and on a request to elsewhere.
   */
  async visit(
    path: string,
    work: (page: Page, context: BrowserContext) => Promise<void>,
    { user = 'admin', password, isNewSession = user !== 'admin', at = '/console', expected, device }: Visitor = {},
  ): Promise<void> {
    const context = await this.#browser.newContext({ reducedMotion: 'reduce', locale: 'en-US', ...device });
    if (!isNewSession) await context.addCookies(this.#cookies);
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    const complaints = complaintsOf(page, this.url);
    try {
      await page.goto(`${this.url}${at}${path}`);
      const account = page.getByRole('button', { name: `Logged in as ${user}` });
      await account.or(page.getByLabel('Username')).waitFor();
      // A flow may have ended the session.
      if (!(await account.isVisible())) {
        await this.logIn(page, user, password);
        if (!isNewSession) this.#cookies = await context.cookies();
      }
      await work(page, context);
    } catch (error) {
      if (complaints.length === 0) throw error;
      throw new Error(`${String(error)}\nThe page complained: ${complaints.join('\n')}`, { cause: error });
    } finally {
      await context.close();
    }
    expect(complaints.filter((complaint) => expected?.test(complaint) !== true)).toEqual([]);
  }

  async logIn(page: Page, user = 'admin', password?: string): Promise<void> {
    await page.getByLabel('Username').fill(user);
    await page.getByLabel('Password').fill(password ?? (await this.adminPassword()));
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('button', { name: `Logged in as ${user}` }).waitFor();
  }

  /** Ends the server, calls `whileDown`, and starts it again at the same address. */
  async restart(whileDown: () => Promise<void>): Promise<void> {
    const { program, url } = this.#served;
    program.child.kill('SIGTERM');
    await program.exited;
    await whileDown();
    this.#served = await startServe(join(this.#folder, 'data'), [
      ...this.#args,
      `--svc.server.port=${new URL(url).port}`,
    ]);
  }

  /** Until `resume` the server does nothing, and its connections stay open. */
  freeze(): void {
    this.#served.program.child.kill('SIGSTOP');
  }

  resume(): void {
    this.#served.program.child.kill('SIGCONT');
  }

  /** A plugin whose folder has these files. */
  async addPlugin(name: string, files: Readonly<Record<string, string>>): Promise<void> {
    const plugin = join(this.#folder, 'data/plugins', name);
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(plugin, file)), { recursive: true });
      await writeFile(join(plugin, file), text);
    }
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await killPrograms();
    await this.#database.drop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Another test file may be building it at the same time. */
async function buildOnce(): Promise<void> {
  if (isConsoleBuilt()) return;
  await rm(dist, { recursive: true, force: true });
  await withPathLock(dist, () => buildConsole());
}

/** Draws the picture of a page of the documentation: `SVC_TEST_PICTURES=docs/images npm test -- test/system/console`. */
export async function drawPicture(page: Page, name: string): Promise<void> {
  const folder = process.env['SVC_TEST_PICTURES'];
  if (folder === undefined) return;
  await page.setViewportSize({ width: 1180, height: 640 });
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** The requests by which the pages follow changes, from now on. Those of a SharedWorker are not among them. */
export function streamsOf(context: BrowserContext): string[] {
  const streams: string[] = [];
  context.on('request', (request) => {
    if (/\/streams$|watch=true/.test(request.url())) streams.push(request.url());
  });
  return streams;
}

const isWhole = process.env['SVC_TEST_WHOLE'] === '1' || process.env['SVC_TEST_VALUES'] === 'all';
/** `npm test` has each color scheme and each width once. */
const displays = (
  [
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 1280 },
    { colorScheme: 'light', width: 320 },
    { colorScheme: 'dark', width: 320 },
  ] as const
).filter((_, at) => isWhole || at === 0 || at === 3);

/** In the color schemes and widths: axe finds no faults, and the page does not scroll sideways. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const { colorScheme, width } of displays) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 780 });
    const isFirst = width === 1280 && colorScheme === 'light';
    expect({ width, colorScheme, faults: await accessibilityFaults(page, isFirst ? 'all' : 'look') }).toEqual({
      width,
      colorScheme,
      faults: [],
    });
    const isTooWide = await page.evaluate(
      'document.documentElement.scrollWidth > document.documentElement.clientWidth',
    );
    expect({ width, isTooWide }).toEqual({ width, isTooWide: false });
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 780 });
}
