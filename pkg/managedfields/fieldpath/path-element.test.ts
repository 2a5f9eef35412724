import { describe, expect, test } from '@jest/globals';
import { compareElements, formatElements, keyElement, valueElement } from './path-element.ts';

describe('a path element', () => {
  test.each([
    [valueElement('a"b'), 'v:"a\\"b"'],
    [valueElement('<a>&\u2028'), 'v:"\\u003ca\\u003e\\u0026\\u2028"'],
    [valueElement('\b\f\n\u0001\\b'), 'v:"\\u0008\\u000c\\n\\u0001\\\\b"'],
    [valueElement(1.5), 'v:1.5'],
    [valueElement(-0), 'v:0'],
    [valueElement(1e21), 'v:1e+21'],
    [
      keyElement([
        ['protocol', 'TCP'],
        ['containerPort', 80],
      ]),
      'k:{"containerPort":80,"protocol":"TCP"}',
    ],
  ])('%s', (actual, expected) => {
    expect(actual).toBe(expected);
  });

  test('is shown in messages', () => {
    const path = ['f:spec', 'f:ports', 'k:{"containerPort":80,"protocol":"TCP"}', 'f:name'];
    expect(formatElements(path)).toBe('.spec.ports[containerPort=80,protocol="TCP"].name');
    expect(formatElements(['f:a', 'v:"x\\ty"'])).toBe('.a[="x\\ty"]');
    expect(formatElements(['f:a', 'v:1000000'])).toBe('.a[=1e+06]');
    expect(formatElements(['f:a', 'v:1234567'])).toBe('.a[=1.234567e+06]');
    expect(formatElements(['f:a', 'v:0.00001'])).toBe('.a[=1e-05]');
    expect(formatElements(['f:a', 'v:true', 'i:3'])).toBe('.a[=true][3]');
    expect(formatElements(['v:"\\u00a0\\u0007é😀"'])).toBe('[="\\u00a0\\aé😀"]');
  });

  test('has an order: fields, keys, values by type and size', () => {
    const ordered = [
      'f:a',
      'f:b',
      'k:{"a":1}',
      'k:{"a":1,"b":1}',
      'k:{"a":2}',
      'k:{"b":1}',
      'v:9',
      'v:10',
      'v:"1"',
      'v:false',
      'v:true',
      'i:2',
      'i:10',
    ];
    expect(ordered.toReversed().toSorted(compareElements)).toEqual(ordered);
  });
});
