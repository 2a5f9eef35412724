import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { faults } from './fault-table.ts';

/** Without the spaces that align the table columns. */
const page = readFileSync(new URL('../../../../docs/reliability.md', import.meta.url), 'utf8').replaceAll(/ +/g, ' ');

describe('the kinds of faults', () => {
  test('are many, each with a name of its own', () => {
    expect(new Set(faults.map(({ name }) => name)).size).toBe(faults.length);
    expect(faults.length).toBeGreaterThanOrEqual(20);
  });
  test.each(faults.map(({ name, intent }) => ({ name, intent })))(
    '$name is in docs/reliability.md as it is here',
    ({ name, intent }) => {
      expect(page).toContain(`| \`${name}\` | ${intent} |\n`);
    },
  );
});
