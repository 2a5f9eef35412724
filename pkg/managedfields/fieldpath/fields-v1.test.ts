import { describe, expect, test } from '@jest/globals';
import { runSync, type JsonObject } from '#pkg/apimachinery/index';
import { readingFieldsV1 } from './fields-v1.ts';

describe('reading fieldsV1', () => {
  test.each([
    ['a member without children', { 'f:a': {} }, { 'f:a': {} }],
    ['null as a member', { 'f:a': null }, { 'f:a': {} }],
    ['itself alone', { 'f:a': { '.': {} } }, { 'f:a': {} }],
    ['itself at the root, which nobody owns', { '.': {}, 'f:a': {} }, { 'f:a': {} }],
    ['an unknown kind', { 'f:a': { 'z:b': {} }, 'z:c': {} }, { 'f:a': {} }],
    ['keys in another order', { 'v:1': {}, 'f:b': {}, 'f:a': {} }, { 'f:a': {}, 'f:b': {}, 'v:1': {} }],
    [
      'keys in the order of their code units, which is not that of their bytes',
      { 'f:\u{10000}': {}, 'f:\ue000': { 'f:\u{10ffff}': {}, 'f:\uffff': {} } },
      { 'f:\ue000': { 'f:\uffff': {}, 'f:\u{10ffff}': {} }, 'f:\u{10000}': {} },
    ],
    ['a number in another form', { 'v:1.0': {}, 'v:1': { 'f:a': {} } }, { 'v:1': { '.': {}, 'f:a': {} } }],
    ['a key in another form', { 'k:{"b": 1.0, "a":"<"}': {} }, { 'k:{"a":"\\u003c","b":1}': {} }],
    ['an index', { 'i:+1': {} }, { 'i:1': {} }],
  ])('%s', (_, fields: JsonObject, expected) => {
    const set = runSync(readingFieldsV1(fields));
    expect(set).toEqual(expected);
    expect(Object.keys(set)).toEqual(Object.keys(expected));
    expect(runSync(readingFieldsV1(set as unknown as JsonObject))).toBe(set);
  });

  test.each([
    ['a key without a colon', { spec: {} }],
    ['an empty key', { '': {} }],
    ['a key of one character', { f: {} }],
    ['a number', { 'f:a': 1 }],
    ['a list', { 'f:a': [] }],
    ['a value that is no JSON', { 'v:x': {} }],
    ['a key that is no object', { 'k:1': {} }],
    ['an index that is no number', { 'i:a': {} }],
  ])('%s cannot be read', (_, fields) => {
    expect(() => runSync(readingFieldsV1(fields))).toThrow(SyntaxError);
  });

  test('more levels than an object has cannot be read', () => {
    let fields: JsonObject = {};
    for (let level = 0; level < 10_000; level += 1) fields = { 'f:a': fields };
    expect(() => runSync(readingFieldsV1(fields))).toThrow('more than 256 levels');
  });

  test('a field may have any name', () => {
    const fields = JSON.parse('{"f:__proto__":{"f:constructor":{}},"f:toString":{}}') as JsonObject;
    expect(runSync(readingFieldsV1(fields))).toBe(fields);
  });
});
