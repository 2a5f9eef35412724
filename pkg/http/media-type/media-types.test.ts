import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStatusError } from '#pkg/apimachinery/index';
import { acceptsGzip, negotiate, parseAccept, type Offer } from './accept.ts';
import { parseContentType } from './media-type.ts';
import { warningHeaders } from '../answer/warning-header.ts';

const table: Offer = { type: 'application/json', parameters: { as: 'Table', v: 'v1', g: 'meta.k8s.io' } };
const json: Offer = { type: 'application/json' };
const yaml: Offer = { type: 'application/yaml' };
const offers = [json, table, yaml];

describe('negotiate', () => {
  test.each<[string | undefined, Offer | undefined, string]>([
    [undefined, json, 'no header'],
    ['', json, 'an empty header'],
    ['*/*', json, 'anything'],
    ['application/*', json, 'a range'],
    ['application/yaml', yaml, 'one type'],
    ['application/problem+json', json, 'failures as problems, so JSON'],
    ['application/problem+json;q=0', undefined, 'no problems either'],
    ['APPLICATION/YAML', yaml, 'letter case'],
    ['application/json, */*;q=0.8', json, 'client-node'],
    ['text/html,application/xml;q=0.9,*/*;q=0.8', json, 'a browser'],
    [
      'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json',
      table,
      'kubectl get',
    ],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json', json, 'a Table nobody serves'],
    ['application/json;as=Table;g=meta.k8s.io;v="v1"', table, 'quoted, in another order'],
    ['application/vnd.kubernetes.protobuf,application/json', json, 'protobuf first'],
    ['application/vnd.kubernetes.protobuf', undefined, 'protobuf only'],
    ['application/json;q=0.1,application/yaml;q=0.9', yaml, 'by q'],
    ['application/json;q=0, */*', yaml, 'refused by name'],
    ['*/*;q=0', undefined, 'everything refused'],
    ['application/json;charset=utf-8', json, 'a parameter without meaning'],
    ['application/json;q=2, application/yaml', yaml, 'a malformed q'],
    ['application/json;as="Ta,ble", application/yaml', yaml, 'a comma in quotes'],
    [String.raw`application/json;as="Ta\",ble", application/yaml`, yaml, 'an escaped quote and a comma in quotes'],
    [String.raw`application/json;as="T\able";g=meta.k8s.io;v=v1`, table, 'escaped letters'],
    [`${'a/b,'.repeat(40)}application/json`, undefined, 'bounded'],
    [',,;;,=,"', undefined, 'garbage'],
  ])('%s', (header, expected) => {
    expect(negotiate(header, offers)).toBe(expected);
  });

  test('never throws', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'A', '/', '*', ';', '=', ',', '"', '\\', ' ', 'q', '.', '0', '1') }),
        (text) => void negotiate(text, offers),
      ),
    );
    expect(parseAccept('a/b;'.repeat(5000))).toEqual([]);
  });
});

test.each([
  [undefined, false],
  ['gzip', true],
  ['br, gzip, deflate', true],
  ['br,GZIP;q=0.5', true],
  ['gzip;q=0', false],
  ['gzip; q=0.000', false],
  ['identity', false],
])('acceptsGzip(%s) is %s', (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected);
});

describe('parseContentType', () => {
  const accepted = ['application/json', 'application/yaml'] as const;
  test.each([
    [undefined, 'application/json'],
    ['application/json', 'application/json'],
    ['Application/YAML; Charset="UTF-8"', 'application/yaml'],
    ['application/json;charset=utf8;', 'application/json'],
    [String.raw`application/json; charset="ut\f-8"`, 'application/json'],
    ['application/json; charset=latin1', 415],
    ['text/plain', 415],
    ['application/json, application/yaml', 415],
    ['application/json; =x', 415],
    ['application/json; charset="utf-8', 415],
    ['nonsense', 415],
  ])('%s', (header, expected) => {
    const outcome = (): string | number => {
      try {
        return parseContentType(header, [...accepted]).type;
      } catch (error) {
        return isStatusError(error) ? error.code : -1;
      }
    };
    expect(outcome()).toBe(expected);
  });
});

describe('warningHeaders', () => {
  test.each([
    [['plain'], ['299 - "plain"'], 'plain'],
    [['a', 'a'], ['299 - "a"'], 'once'],
    [['a "b" \\'], ['299 - "a \\"b\\" \\\\"'], 'escaped'],
    [['a\r\nSet-Cookie: x\u0000'], ['299 - "a Set-Cookie: x "'], 'no new header'],
    [['é'], ['299 - "Ã©"'], 'UTF-8, a byte a character'],
  ])('%j', (texts, expected) => {
    expect(warningHeaders(texts)).toEqual(expected);
  });

  test('are safe to send and bounded, whatever the text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 3000 }), { maxLength: 20 }), (texts) => {
        const values = warningHeaders(texts);
        expect(values.join('').length).toBeLessThanOrEqual(4096);
        for (const value of values)
          expect(value).toMatch(/^299 - "(?:[\x20-\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\["\\])*"$/);
      }),
      { numRuns: 200 },
    );
  });
});
