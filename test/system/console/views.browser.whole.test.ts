import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { complaintsOf, hasBrowser, startBrowser } from '../../../pkg/access/pages/pagetest/browser.ts';
import { ConsoleSite } from './console-site.ts';
import { createPosts, postDefinition } from './posts.ts';

if (!hasBrowser) test.skip('WARNING: THE CONSOLE IS NOT TESTED: there is no chromium', () => undefined);

(hasBrowser ? describe : describe.skip)('the console', () => {
  let site: ConsoleSite;
  beforeAll(async () => {
    site = await ConsoleSite.start();
    await site.api('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', postDefinition);
    await createPosts(site, 20);
  });
  afterAll(() => site?.stop());

  test('is served from its sources next to a running server', async () => {
    const vite = fileURLToPath(new URL('../../../node_modules/vite/bin/vite.js', import.meta.url));
    const repository = fileURLToPath(new URL('../../../', import.meta.url));
    const dev = spawn(process.execPath, [vite, '--config', 'console/vite.config.ts', '--port', '0'], {
      cwd: repository,
      env: { ...process.env, NODE_ENV: 'development', NO_COLOR: '1', SVC_CONSOLE_PLATFORM: site.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const browser = await startBrowser();
    try {
      let printed = '';
      let url: string | undefined;
      while (url === undefined) {
        const [chunk] = (await once(dev.stdout, 'data')) as [Buffer];
        printed += chunk.toString();
        url = /Local:\s+(\S+)\//.exec(printed)?.[1];
      }
      const page = await browser.newPage({ locale: 'en-US' });
      page.setDefaultTimeout(60_000);
      const complaints = complaintsOf(page, new URL(url).origin);
      await page.goto(`${url}/g/blog.example.com/posts?ns=default`);
      await site.logIn(page);
      await page.getByRole('link', { name: 'post-000' }).waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
      dev.kill();
      await once(dev, 'exit');
    }
  });
});
