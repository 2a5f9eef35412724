import { expect, test } from '@jest/globals';
import { auditLevels, isAtLeast } from './audit-level.ts';

test('levels are ordered, and each includes itself', () => {
  const table = auditLevels.map((level) => auditLevels.filter((wanted) => isAtLeast(level, wanted)));
  expect(table).toEqual([
    ['None'],
    ['None', 'Metadata'],
    ['None', 'Metadata', 'Request'],
    ['None', 'Metadata', 'Request', 'RequestResponse'],
  ]);
});
