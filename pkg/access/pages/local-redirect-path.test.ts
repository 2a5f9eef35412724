import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { localRedirectPath } from './login-page.ts';

describe('the redirect target', () => {
  test.each([
    ['/settings/sessions/?a=b#c', '/settings/sessions/?a=b#c'],
    ['/', '/'],
    ['/a/../b', '/b'],
    ['/api/docs/', '/api/docs/'],
  ])('%s', (next, expected) => {
    expect(localRedirectPath(next)).toBe(expected);
  });

  test.each([
    ['nothing', undefined],
    ['another type', 5],
    ['no text', ''],
    ['another host', 'http://elsewhere.invalid/'],
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
    expect(localRedirectPath(next)).toBe('/settings/');
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
      ' ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        expect(new URL(localRedirectPath(pieces.join('')), 'http://own.example').origin).toBe('http://own.example');
      }),
      { numRuns: 500 },
    );
  });
});
