import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from './pagetest/browser.ts';
import { describeInBrowser } from './pagetest/describe-in-browser.ts';
import { password, startPageTest, type PageTest } from './pagetest/start-page-test.ts';

/** A front end of another origin: one empty page. */
async function startFrontEnd(): Promise<{ server: Server; origin: string }> {
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><title>Front end</title>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

interface FetchAnswer {
  status: number;
  json: Record<string, unknown> | undefined;
}

describeInBrowser('a front end of another origin, in a browser', () => {
  let allowed: Awaited<ReturnType<typeof startFrontEnd>>;
  let foreign: Awaited<ReturnType<typeof startFrontEnd>>;
  let access: PageTest;
  let browser: Browser;
  beforeAll(async () => {
    [allowed, foreign, browser] = await Promise.all([startFrontEnd(), startFrontEnd(), startBrowser()]);
    access = await startPageTest({ allowedOrigins: [allowed.origin] });
    await access.addPerson({ username: 'mia' });
  });
  afterAll(async () => {
    await browser?.close();
    await access?.stop();
    for (const { server } of [allowed, foreign]) server.close();
  });

  /** `fetch` as a script of the page, with the cookies. Undefined where the browser does not let it read the answer. */
  const fetchIn = (
    page: Page,
    method: string,
    path: string,
    { body, csrfToken = '' }: { body?: object; csrfToken?: string } = {},
  ): Promise<FetchAnswer | undefined> =>
    page.evaluate(
      async ({ url, init }) => {
        try {
          const response = await fetch(url, init);
          const text = await response.text();
          return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
        } catch {
          return undefined;
        }
      },
      {
        url: `${access.url}${path}`,
        init: {
          method,
          credentials: 'include' as const,
          headers: { 'Content-Type': 'application/json', 'X-CSRFToken': csrfToken },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        },
      },
    );
  const sessions = '/api/v1/authentication/sessions/';
  const credentials = { username: 'mia', password };

  test('logs in and out if the administrator allows it', async () => {
    const page = await browser.newPage();
    await page.goto(allowed.origin);
    const login = await fetchIn(page, 'POST', sessions, { body: credentials });
    expect(login).toMatchObject({ status: 201, json: { user: { username: 'mia' } } });
    const csrfToken = login!.json!['csrf_token'] as string;
    expect(await fetchIn(page, 'GET', `${sessions}current/`)).toMatchObject({
      status: 200,
      json: { csrf_token: csrfToken },
    });
    expect(await fetchIn(page, 'DELETE', sessions)).toMatchObject({ status: 403, json: { code: 'csrf_failed' } });
    expect(await fetchIn(page, 'DELETE', sessions, { csrfToken })).toMatchObject({ status: 204 });
    expect(await fetchIn(page, 'GET', `${sessions}current/`)).toMatchObject({ status: 401 });
    await page.close();
  });

  test('is where the login page returns to', async () => {
    const page = await browser.newPage();
    await page.goto(`${access.url}/login/?next=${encodeURIComponent(`${allowed.origin}/posts`)}`);
    await page.getByLabel('Username').fill('mia');
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL(`${allowed.origin}/posts`);
    expect(await fetchIn(page, 'GET', `${sessions}current/`)).toMatchObject({ status: 200 });
    await page.close();
  });

  test('can neither log in nor read anything if it is not allowed', async () => {
    const page = await browser.newPage();
    await page.goto(foreign.origin);
    expect(await fetchIn(page, 'POST', sessions, { body: credentials })).toBeUndefined();
    expect(await page.context().cookies(access.url)).toEqual([]);
    await page.close();
  });
});
