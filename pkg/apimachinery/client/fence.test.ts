import { describe, expect, test } from '@jest/globals';
import { newConflict } from '../status/status-error.ts';
import { fenceHeader, formatFence, isFenceLost, parseFence } from './fence.ts';

describe('parseFence', () => {
  test.each([
    ['default/a@0', { namespace: 'default', lease: 'a', transitions: 0 }],
    ['default/publishing@3', { namespace: 'default', lease: 'publishing', transitions: 3 }],
    ['n-1/a.b-c.d@2147483647', { namespace: 'n-1', lease: 'a.b-c.d', transitions: 2_147_483_647 }],
    [`${'n'.repeat(63)}/${'l'.repeat(253)}@1`, { namespace: 'n'.repeat(63), lease: 'l'.repeat(253), transitions: 1 }],
  ])('parses %s and formats it the same', (text, fence) => {
    expect(parseFence(text)).toEqual(fence);
    expect(formatFence(fence)).toBe(text);
  });

  const shape = 'must be <namespace>/<lease>@<transitions>, such as default/publishing@3';
  test.each([
    ['nothing', '', shape],
    ['no namespace', 'a@1', shape],
    ['an empty namespace', '/a@1', shape],
    ['an empty lease', 'default/@1', shape],
    ['no number', 'default/a', shape],
    ['an empty number', 'default/a@', shape],
    ['an invalid number', 'default/a@x', shape],
    ['a negative number', 'default/a@-1', shape],
    ['a leading zero', 'default/a@01', shape],
    ['a fraction', 'default/a@1.0', shape],
    ['an exponent', 'default/a@1e3', shape],
    ['digits of another script', 'default/a@١', shape],
    ['two fences, from a repeated header', 'default/a@1, default/b@1', shape],
    ['one name more', 'default/a/b@1', shape],
    ['white space', ' default/a@1', /^names no namespace/],
    ['a line feed at the end', 'default/a@1\n', shape],
    ['a long namespace', `${'n'.repeat(64)}/a@1`, shape],
    ['a long lease', `default/${'l'.repeat(254)}@1`, shape],
    ['a long number', 'default/a@12345678901', shape],
    ['kilobytes', `default/${'a'.repeat(30_000)}@1`, shape],
    ['a number beyond int32', 'default/a@2147483648', 'has a number of transitions beyond 2147483647'],
    ['a namespace with capitals', 'Default/a@1', /^names no namespace: a lowercase RFC 1123 label/],
    ['a namespace with a dot', 'a.b/a@1', /^names no namespace/],
    ['a lease with capitals', 'default/A@1', /^names no lease: a lowercase RFC 1123 subdomain/],
    ['a lease with U+0000', 'default/a\u0000@1', /^names no lease/],
    ['a lease that begins with a dot', 'default/.a@1', /^names no lease/],
    ['a name of the prototype', 'default/__proto__@1', /^names no lease/],
  ])('refuses %s', (_case, text, rule) => {
    expect(() => parseFence(text)).toThrow(
      expect.objectContaining({ code: 400, message: expect.stringMatching(`^the header ${fenceHeader} `) }),
    );
    const said = messageOf(text).slice(`the header ${fenceHeader} `.length);
    if (typeof rule === 'string') expect(said).toBe(rule);
    else expect(said).toMatch(rule);
  });
});

test('the cause distinguishes a lost fence from other conflicts', () => {
  const resource = { group: '', resource: 'x' };
  expect(
    isFenceLost(
      newConflict(resource, 'a', 'lost', [{ reason: 'FieldValueInvalid', message: 'm', field: fenceHeader }]),
    ),
  ).toBe(true);
  expect(
    isFenceLost(
      newConflict(resource, 'a', 'taken', [{ reason: 'FieldValueDuplicate', message: 'm', field: 'spec.slug' }]),
    ),
  ).toBe(false);
  expect(isFenceLost(newConflict(resource, 'a', 'modified'))).toBe(false);
  expect(isFenceLost(new Error('x'))).toBe(false);
});

function messageOf(text: string): string {
  try {
    parseFence(text);
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}
