import { expect, test } from '@jest/globals';
import { traceIdOf } from './server-request-context.ts';

const id = '0af7651916cd43dd8448eb211c80319c';

test.each([
  ['the current version', `00-${id}-b7ad6b7169203331-01`, id],
  ['a later version, with more fields', `01-${id}-b7ad6b7169203331-01-what`, id],
  ['more fields than this version has', `00-${id}-b7ad6b7169203331-01-what`, undefined],
  ['an invalid version', `ff-${id}-b7ad6b7169203331-01`, undefined],
  ['no trace', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, undefined],
  ['no parent', `00-${id}-${'0'.repeat(16)}-01`, undefined],
  ['capitals', `00-${id.toUpperCase()}-b7ad6b7169203331-01`, undefined],
  ['too long', `01-${id}-b7ad6b7169203331-01-${'x'.repeat(300)}`, undefined],
  ['no header', undefined, undefined],
  ['anything else', 'x', undefined],
])('%s', (_reason, header, traceId) => {
  expect(traceIdOf(header)).toBe(traceId);
});
