import { describe, expect, test } from '@jest/globals';
import type { JsonSchema } from '#pkg/apimachinery/index';
import { schemaFingerprint } from './schema-fingerprint.ts';

const base: JsonSchema = {
  type: 'object',
  properties: { a: { type: 'string', maxLength: 5 }, b: { type: 'array', items: { type: 'integer', default: 1 } } },
};

describe('schemaFingerprint', () => {
  test.each<{ reason: string; other: JsonSchema; same: boolean }>([
    {
      reason: 'the order of keys',
      other: {
        properties: {
          b: { items: { default: 1, type: 'integer' }, type: 'array' },
          a: { maxLength: 5, type: 'string' },
        },
        type: 'object',
      },
      same: true,
    },
    {
      reason: 'descriptive text',
      other: {
        ...base,
        description: 'x',
        title: 'y',
        example: 1,
        properties: { ...base.properties, a: { type: 'string', maxLength: 5, description: 'z' } },
      },
      same: true,
    },
    {
      reason: 'a field with the name of descriptive text',
      other: { ...base, properties: { ...base.properties, description: { type: 'string' } } },
      same: false,
    },
    {
      reason: 'a limit',
      other: { ...base, properties: { ...base.properties, a: { type: 'string', maxLength: 6 } } },
      same: false,
    },
    {
      reason: 'a default',
      other: {
        ...base,
        properties: { ...base.properties, b: { type: 'array', items: { type: 'integer', default: 2 } } },
      },
      same: false,
    },
  ])('$reason', ({ other, same }) => {
    expect(schemaFingerprint(other) === schemaFingerprint(base)).toBe(same);
  });
});
