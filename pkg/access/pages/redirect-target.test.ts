import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { redirectTarget } from './redirect-target.ts';

const console = 'https://console.example.com';

describe('the redirect target', () => {
  test.each([
    ['/settings/sessions/?a=b#c', '/settings/sessions/?a=b#c'],
    ['/', '/'],
    ['/a/../b', '/b'],
    ['/api/docs/', '/api/docs/'],
    [`${console}/posts?a=b#c`, `${console}/posts?a=b#c`],
    [console, `${console}/`],
  ])('%s', (next, expected) => {
    expect(redirectTarget(next, [console])).toBe(expected);
  });

  test.each([
    ['nothing', undefined],
    ['another type', 5],
    ['no text', ''],
    ['another host', 'http://elsewhere.invalid/'],
    ['another port of an allowed host', 'https://console.example.com:8443/'],
    ['an allowed host without TLS', 'http://console.example.com/'],
    ['an allowed host with a user', 'https://mia:x@console.example.com/'],
    ['a host that begins like an allowed one', 'https://console.example.com.elsewhere.invalid/'],
    ['another host, of this scheme', '//elsewhere.invalid'],
    ['another host, as browsers read it', '/\\elsewhere.invalid'],
    ['another host, within', '/a\\..\\\\elsewhere.invalid'],
    ['another host, behind a tab', '/\t/elsewhere.invalid'],
    ['another host, behind a line', '/\n/elsewhere.invalid'],
    ['another host, behind dots', '/..//elsewhere.invalid'],
    ['another host, behind encoded dots', '/%2e%2e//elsewhere.invalid'],
    ['a script', 'javascript:alert(1)'],
    ['a relative path', 'settings/'],
    ['a header', '/\r\nSet-Cookie: a=b'],
    ['too long', `/${'x'.repeat(2000)}`],
    ['other letters', '/é'],
  ])('%s redirects to the settings', (_reason, next) => {
    expect(redirectTarget(next, [console])).toBe('/settings/');
  });

  test('is never on another site', () => {
    const piece = fc.constantFrom(
      '/',
      '\\',
      '..',
      '.',
      '%2e',
      '%2f',
      '%5c',
      '@',
      ':',
      'x',
      'elsewhere.invalid',
      '\t',
      '?',
      '#',
      'http:',
      'https:',
      'console.example.com',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const { origin } = new URL(redirectTarget(pieces.join(''), [console]), 'http://own.example');
        expect(['http://own.example', console]).toContain(origin);
      }),
      { numRuns: 500 },
    );
  });
});
