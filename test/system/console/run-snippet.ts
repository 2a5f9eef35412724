import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** What the open dialog "As code" shows. */
export async function snippetsOf(page: Page): Promise<{ curl: string; sdk: string }> {
  const texts = page.getByRole('dialog').locator('pre');
  await texts.first().waitFor();
  const [curl = '', sdk = ''] = await texts.allTextContents();
  return { curl, sdk };
}

/** What the command prints. */
export async function runCommand(text: string, token: string): Promise<string> {
  return (await run('bash', ['-c', text], { env: { ...process.env, TOKEN: token } })).stdout;
}

/** What the module prints, with the client of this repository. */
export async function runModule(text: string, token: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-snippet-'));
  try {
    const file = join(folder, 'view.mjs');
    const client = new URL('../../../pkg/webclient/index.ts', import.meta.url).href;
    await writeFile(file, text.replace(`'@svc/client'`, `'${client}'`));
    const args = ['--conditions=source', '--import', 'tsx', file];
    return (await run(process.execPath, args, { cwd: repository, env: { ...process.env, TOKEN: token } })).stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
