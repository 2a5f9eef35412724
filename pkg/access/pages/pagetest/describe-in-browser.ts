import { describe } from '@jest/globals';
import { hasBrowser } from './browser.ts';

/** A group of tests that need a browser. Where there is none they are skipped, and the run says so. */
export function describeInBrowser(title: string, tests: () => void): void {
  if (!hasBrowser) process.stderr.write(`WARNING: there is no Chromium, so nothing tests ${title}.\n`);
  (hasBrowser ? describe : describe.skip)(title, tests);
}
