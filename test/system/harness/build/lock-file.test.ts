import { expect, test } from '@jest/globals';
import { satisfies, type LockFile } from './lock-file.ts';

const packages = {
  '': {},
  'node_modules/pg': { version: '8.23.1' },
  'node_modules/typescript': { version: '7.0.2', dev: true },
  'node_modules/jest': { version: '30.5.2', dev: true },
};
const ours: LockFile = { packages };

test.each([
  { reason: 'the same', theirs: packages, expected: true },
  {
    reason: 'another version of what only tests use',
    theirs: { ...packages, 'node_modules/jest': { version: '29.0.0', dev: true } },
    expected: true,
  },
  { reason: 'fewer packages', theirs: { 'node_modules/pg': { version: '8.23.1' } }, expected: true },
  {
    reason: 'another version of what the program runs with',
    theirs: { ...packages, 'node_modules/pg': { version: '8.22.0' } },
    expected: false,
  },
  {
    reason: 'another compiler',
    theirs: { ...packages, 'node_modules/typescript': { version: '6.0.0', dev: true } },
    expected: false,
  },
  {
    reason: 'a package that is no longer there',
    theirs: { ...packages, 'node_modules/left-pad': { version: '1.3.0' } },
    expected: false,
  },
  {
    reason: 'the same version, nested elsewhere',
    theirs: { ...packages, 'node_modules/pg/node_modules/pg-types': { version: '2.2.0' } },
    expected: false,
  },
])('do our packages do: $reason', ({ theirs, expected }) => {
  expect(satisfies(ours, { packages: theirs })).toBe(expected);
});
