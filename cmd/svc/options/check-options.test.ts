import { describe, expect, test } from '@jest/globals';
import { newPersonalToken } from '#pkg/identity/index';
import { checkDatabaseUrl, checkOptions } from './check-options.ts';
import { loadOptions } from './load-options.ts';

const check =
  (...args: string[]) =>
  (): void =>
    checkOptions(loadOptions({ environment: {}, args }).options);
const checkUrl =
  (...args: string[]) =>
  (): void =>
    checkDatabaseUrl(loadOptions({ environment: {}, args }).options, 'apiserver');
const token = newPersonalToken();

describe('the listener', () => {
  test.each(['127.0.0.1', '127.9.9.9', 'localhost', '::1', '::ffff:127.0.0.1'])(
    'on %s is reachable from this machine only',
    (host) => {
      expect(check(`--svc.server.host=${host}`)).not.toThrow();
    },
  );
  test.each(['0.0.0.0', '::', '10.0.0.7', 'example.com', '127.example.com', '1270.0.0.1'])(
    'on %s needs a configured token',
    (host) => {
      expect(check(`--svc.server.host=${host}`)).toThrow(/initial-admin-token/);
      expect(check(`--svc.server.host=${host}`, `--svc.security.initial-admin-token=${token}`)).not.toThrow();
    },
  );
});

test.each(['secret', 'pat_', `${token}0`, token.toUpperCase()])('%s is not a token, and is not repeated', (wrong) => {
  for (const name of ['initial-admin', 'controller-manager', 'access-server']) {
    const start = check(`--svc.security.${name}-token=${wrong}`);
    expect(start).toThrow(new RegExp(`^svc\\.security\\.${name}-token is not a personal token`));
    if (wrong !== 'pat_') expect(start).not.toThrow(wrong);
  }
});

test.each([
  ['shorter', '999ms', '1s', true],
  ['as long', '1s', '1s', false],
  ['longer', '40s', '30s', false],
])('a wait for other requests %s than the request timeout', (_reason, wait, timeout, isFine) => {
  const start = check(`--svc.http.max-wait=${wait}`, `--svc.api.request-timeout=${timeout}`);
  if (isFine) expect(start).not.toThrow();
  else expect(start).toThrow(/max-wait.*504 instead of 429/);
});

test('an API server alone needs a database', () => {
  expect(checkUrl()).toThrow(/svc\.database\.url/);
  expect(checkUrl('--svc.database.url=postgres://db/svc')).not.toThrow();
});
