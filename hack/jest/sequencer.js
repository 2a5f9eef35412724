import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Sequencer from '@jest/test-sequencer';

/** Files that take longer than their size says: their cases are in other files, or wait for a browser. */
const longFiles = new Set(
  [
    'pkg/storage/postgres/postgres-store.integration.test.ts',
    'pkg/testenv/client-contract/client-contract.integration.test.ts',
    'test/system/conformance/recorded-sequences.integration.test.ts',
    'test/system/console/flows.browser.integration.test.ts',
  ].map((file) => join(fileURLToPath(new URL('../..', import.meta.url)), file)),
);
for (const file of longFiles) if (!existsSync(file)) throw new Error(`There is no ${file} to start first.`);

/**
 * Starts them first. Jest starts what takes longest first, so that all workers end together; on a fresh clone it knows
 * no durations, and takes the largest files.
 */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- jest's method, no array
    const sorted = super.sort(tests);
    const isLong = ({ path }) => longFiles.has(path);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}
