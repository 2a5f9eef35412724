import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { faults } from './fault-table.ts';

/** Without the spaces that align the table columns. */
const page = readFileSync(new URL('../../../../docs/reliability.md', import.meta.url), 'utf8').replaceAll(/ +/g, ' ');

describe('the kinds of faults', () => {
  test('are many, each with its own name', () => {
    expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length);
    expect(faults.length).toBeGreaterThanOrEqual(20);
  });
  test.each(faults.map(({ name, intent }) => ({ name, intent })))(
    '$name has the same description in docs/reliability.md',
    ({ name, intent }) => {
      expect(page).toContain(`| \`${name}\` | ${intent} |\n`);
    },
  );
});
