import { expect, test } from '@jest/globals';
import { credentialKeyOf, platformCredentialKeyOf } from './credential-key.ts';

const id = '5d4f9a2e-1111-4222-8333-444455556666';

test.each([
  { reason: 'no credential', headers: {}, is: undefined },
  { reason: 'other cookies', headers: { cookie: 'a=b; svc_csrftoken=c' }, is: undefined },
  {
    reason: 'a signature by its key',
    headers: { authorization: `Signature keyId="${id.toUpperCase()}",algorithm="hmac-sha256",signature="x"` },
    is: id,
  },
  {
    reason: 'a signature, its parameters in another order, without quotes',
    headers: { authorization: `signature algorithm=hs2019, keyid=${id},signature="x"` },
    is: id,
  },
  {
    reason: 'a message signature by its key',
    headers: { 'signature-input': `sig1=("@method" "@target-uri");created=1;keyid="${id}"` },
    is: id,
  },
])('$reason', ({ headers, is }) => {
  expect(credentialKeyOf(headers)).toEqual(is === undefined ? undefined : { key: `signature ${is}`, isPublic: true });
});

test('a secret is identified by its hash, and the session by its cookie at any position', () => {
  const keys = [
    { authorization: 'Bearer a' },
    { authorization: 'Token a' },
    { cookie: 'svc_sessionid=a' },
    { cookie: 'svc_sessionid=b' },
    { 'signature-input': 'x' },
  ].map((headers) => credentialKeyOf(headers));
  expect(new Set(keys.map((key) => key?.key)).size).toBe(keys.length);
  expect(keys.every((key) => key?.isPublic === false && !key.key.includes('Bearer'))).toBe(true);
  expect(credentialKeyOf({ cookie: 'x=1; svc_sessionid="a"' })).toEqual(credentialKeyOf({ cookie: 'svc_sessionid=a' }));
  // The header takes precedence over a cookie.
  expect(credentialKeyOf({ authorization: 'Bearer a', cookie: 'svc_sessionid=b' })).toEqual(
    credentialKeyOf({ authorization: 'Bearer a' }),
  );
});

test.each(['bearer a', 'BEARER  a', 'Bearer\ta', ' Bearer a '])(
  '%j is the same credential as its other spellings',
  (authorization) => {
    for (const keyOf of [credentialKeyOf, platformCredentialKeyOf])
      expect(keyOf({ authorization })).toEqual(keyOf({ authorization: 'Bearer a' }));
    expect(credentialKeyOf({ authorization })).not.toEqual(credentialKeyOf({ authorization: 'Bearer A' }));
  },
);

test('on the content platform a signature is not a credential, and does not hide the effective one', () => {
  const session = { cookie: 'svc_sessionid=a' };
  expect(platformCredentialKeyOf({ ...session, 'signature-input': 'changes' })).toEqual(credentialKeyOf(session));
  expect(platformCredentialKeyOf({ 'signature-input': 'changes' })).toBeUndefined();
  expect(platformCredentialKeyOf({ authorization: `Signature keyId="${id}"` })).toMatchObject({ isPublic: false });
});
