import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type Page } from 'playwright-core';

const executablePath = '/usr/bin/chromium';
const args = [
  '--no-sandbox',
  '--headless',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
];

/** Where there ought to be a browser, its absence is a failure. */
export const hasBrowser = existsSync(executablePath) || process.env['CI'] === 'true';

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args });
}

/**
 * What the browser complains of from now on: errors of scripts, what the page's policy forbids, and requests to
 * elsewhere.
 */
export function complaintsOf(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    // That a form was refused is told on the page, too.
    if (/^(?:error|warning)$/.test(message.type()) && !/status of 4\d\d/.test(message.text()))
      complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    const url = request.url();
    if (new URL(url).origin !== origin && !url.startsWith('data:')) complaints.push(`asks ${url}`);
  });
  return complaints;
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Rules whose answer depends on colours and sizes. */
const rulesOfLook = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'];

interface AxeResult {
  violations: { id: string; help: string; nodes: { html: string }[] }[];
}

/**
 * What axe finds wrong with the page for people with disabilities: by every rule of WCAG 2.2 AA and of best practice,
 * or by those of its look alone.
 */
export async function accessibilityFaults(page: Page, rules: 'all' | 'look'): Promise<string[]> {
  // Not by a script element, which the page's policy forbids.
  if (rules === 'all') await page.evaluate(axe);
  const options = {
    resultTypes: ['violations'],
    ...(rules === 'all'
      ? { rules: { 'target-size': { enabled: true } } }
      : { runOnly: { type: 'rule', values: rulesOfLook } }),
  };
  const { violations } = await page.evaluate(
    (given) => (globalThis as unknown as { axe: { run: (options: object) => Promise<AxeResult> } }).axe.run(given),
    options,
  );
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html).join(' ')}`);
}
