import { expect, test } from '@jest/globals';
import { Type } from 'typebox';
import { defineEndpoint } from '../../definition/endpoint-definition.ts';
import { describePlugin } from './describe-plugin.ts';

const get = {
  group: 'a.example.com',
  version: 'v1',
  audience: 'public',
  method: 'GET',
  path: '/x',
  handler: async () => ({}),
} as const;
let deep = Type.Object({});
for (let i = 0; i < 60; i += 1) deep = Type.Object({ a: deep });

test.each<[string, Parameters<typeof defineEndpoint>[0][], RegExp]>([
  ['a text with U+0000', [{ ...get, summary: 'a\0b' }], /endpoints\[0\]\.summary: must not hold the character U\+0000/],
  [
    'half a character',
    [{ ...get, description: '\ud800' }],
    /endpoints\[0\]\.description: must not hold an unpaired surrogate/,
  ],
  ['a schema that is too deep', [{ ...get, response: deep }], /nested deeper than/],
  [
    'more than a status holds',
    Array.from({ length: 400 }, (_, i) => ({ ...get, path: `/x${i}`, description: 'd'.repeat(10_000) })),
    /more than 1572864 bytes/,
  ],
])('%s is not part of a plugin', (_case, endpoints, message) => {
  expect(() =>
    describePlugin('a', { models: [], controllers: [], endpoints: endpoints.map((each) => defineEndpoint(each)) }),
  ).toThrow(message);
});
