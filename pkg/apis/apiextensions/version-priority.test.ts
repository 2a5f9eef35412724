import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compareVersions } from './version-priority.ts';

test('stable before beta before alpha, newest first, then the rest by text', () => {
  const ordered = [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
    'v1gamma1',
    'x',
  ];
  expect(ordered.toReversed().toSorted(compareVersions)).toEqual(ordered);
});

test('is a total order', () => {
  const name = fc.oneof(
    fc.stringMatching(/^v[0-9]{1,60}((alpha|beta)[0-9]{1,3})?$/),
    fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/),
  );
  fc.assert(
    fc.property(fc.array(name), fc.array(name), (a, b) => {
      expect([...a, ...b].toSorted(compareVersions)).toEqual([...b, ...a].toSorted(compareVersions));
    }),
  );
});
