import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type Page } from 'playwright-core';

const executablePaths = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`);
const executablePath = executablePaths.find(existsSync) ?? executablePaths[0]!;
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

/** In CI a missing browser is a failure. */
export const hasBrowser = existsSync(executablePath) || process.env['CI'] === 'true';

/** `hasPageCache`: it keeps pages that are left, as it does for people. */
export function startBrowser({ hasPageCache = false } = {}): Promise<Browser> {
  const ignoreDefaultArgs = hasPageCache ? ['--disable-back-forward-cache'] : [];
  return chromium.launch({ executablePath, args, ignoreDefaultArgs });
}

/**
 * Collects the browser's complaints from now on: script errors, violations of the content security policy, and requests
 * to other origins.
 */
export function complaintsOf(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    // The page shows refusals of forms, too. But nobody is asked for what needs a login before there is one.
    if (/^(?:error|warning)$/.test(message.type()) && !/status of 4(?!01)\d\d/.test(message.text()))
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
 * Accessibility faults that axe finds: by every rule of WCAG 2.2 AA and of best practice, or only by the rules of
 * colours and sizes.
 */
export async function accessibilityFaults(page: Page, rules: 'all' | 'look'): Promise<string[]> {
  // Not with a script element, which the page's policy forbids.
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(axe);
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
