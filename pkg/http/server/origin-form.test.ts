import { expect, test } from '@jest/globals';
import { originForm } from './server-request-context.ts';

test.each([
  ['origin form', '/a?b', '/a?b'],
  ['absolute form', 'http://host:80/a?b', '/a?b'],
  ['another case and host', 'HTTPS://[::1]/a', '/a'],
  ['no path', 'http://host', '/'],
  ['a query without a path', 'http://host?a=b', '/?a=b'],
  ['two slashes, which are kept', 'http://host//a', '//a'],
  ['a path that contains a URL', '/http://host/a', '/http://host/a'],
  ['a user', 'http://user@host/a', 'http://user@host/a'],
  ['no host', 'http:///a', 'http:///a'],
  ['another scheme', 'ftp://host/a', 'ftp://host/a'],
  ['the asterisk', '*', '*'],
])('%s', (_reason, target, expected) => {
  expect(originForm(target)).toBe(expected);
});
