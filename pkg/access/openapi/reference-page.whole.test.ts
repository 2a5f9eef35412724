import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Type } from 'typebox';
import type { Browser } from 'playwright-core';
import { startAccessTest, type AccessTest } from '../accesstest/start-access-test.ts';
import { jsonAnswer, type Operation } from '../operations/operation.ts';
import { complaintsOf, startBrowser } from '../pages/pagetest/browser.ts';
import { describeInBrowser } from '../pages/pagetest/describe-in-browser.ts';
import { referenceOperations } from './reference-operations.ts';

const seen: (string | undefined)[] = [];
const text = Type.Object({ text: Type.String() });
const echo: Operation = {
  method: 'POST',
  path: '/api/v1/echo/',
  operationId: 'echo',
  access: 'open',
  document: {
    summary: 'Say it again </script><script>window.broken = 1</script>',
    tag: 'Echo',
    body: text,
    answers: { 200: text },
  },
  handle: async ({ request }) => {
    seen.push(request.header('x-csrftoken'));
    return jsonAnswer(200, await request.fields());
  },
};

let server: AccessTest;
beforeAll(async () => {
  server = await startAccessTest({
    operations: () => [echo, ...referenceOperations([echo], { svcVersion: '2.22.0' })],
  });
});
afterAll(() => server.stop());

describe('the reference over HTTP', () => {
  test.each([
    ['/api/docs/', 'text/html; charset=utf-8'],
    ['/api/docs', 'text/html; charset=utf-8'],
    ['/api/docs/init.js', 'text/javascript; charset=utf-8'],
    ['/api/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['/api/docs/swagger-ui.css', 'text/css; charset=utf-8'],
    ['/api/docs/favicon.png', 'image/png'],
    ['/api/openapi.json', 'application/json'],
    ['/api/openapi.json/', 'application/json'],
  ])('%s is open to anyone', async (path, type) => {
    const { status, headers } = await server.send('GET', path);
    expect({ status, type: headers['content-type'], policy: headers['content-security-policy'] }).toEqual({
      status: 200,
      type,
      policy: expect.stringContaining("default-src 'self'"),
    });
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect((await server.send('GET', path, { headers: { 'If-None-Match': headers.etag } })).status).toBe(304);
    expect(await server.send('HEAD', path)).toMatchObject({ status: 200, text: '' });
  });

  test.each([
    '/api/docs/nothing.js',
    '/api/docs/__proto__',
    '/api/docs/..%2Fslash',
    '/api/docs/%2Fslash',
    '/api/docs/package.json',
  ])('%s is not one of its files', async (path) => {
    expect([400, 404]).toContain((await server.send('GET', path)).status);
  });

  test('its page can be read, not written', async () => {
    expect(await server.send('POST', '/api/docs/')).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  test('the document describes the operations, and itself', async () => {
    const { json } = await server.send('GET', '/api/openapi.json');
    expect(json).toMatchObject({
      openapi: '3.1.0',
      paths: {
        '/api/v1/echo/': { post: { operationId: 'echo' } },
        '/api/openapi.json': { get: { operationId: 'getOpenApi' } },
      },
    });
  });
});

describeInBrowser('the reference in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  test.each(['/api/docs/', '/api/docs'])(
    '%s shows the operations, and tries them with the CSRF token of the session',
    async (path) => {
      const context = await browser.newContext();
      await context.addCookies([{ name: 'svc_csrftoken', value: 'csrf', url: server.url }]);
      const page = await context.newPage();
      const complaints = complaintsOf(page, server.url);
      await page.goto(server.url + path);
      const operation = page.locator('.opblock', { hasText: '/api/v1/echo/' });
      await operation.locator('.opblock-summary-control').click();
      await operation.getByRole('button', { name: 'Try it out' }).click();
      await operation.locator('textarea').fill('{"text":"hello there"}');
      await operation.getByRole('button', { name: 'Execute' }).click();
      await operation.locator('.live-responses-table').getByText('hello there').first().waitFor();
      expect(seen.pop()).toBe('csrf');
      await page.getByRole('button', { name: 'Authorize' }).click();
      for (const name of ['signature', 'privateToken', 'bearer', 'session'])
        await page.locator('.auth-container', { hasText: name }).first().waitFor();
      expect(await page.evaluate(() => (globalThis as { broken?: number }).broken)).toBeUndefined();
      expect(complaints).toEqual([]);
      await context.close();
    },
  );
});
