import { expect, test } from '@jest/globals';
import { readyMessage } from './ready-message.ts';

const least = { url: 'http://127.0.0.1:8090', tokenFile: 'data/admin-token', username: 'admin' };

test('shows where the server is, how to log in, and what to try', () => {
  const urls = {
    tlsUrl: 'https://127.0.0.1:8443',
    accessUrl: 'http://127.0.0.1:8091',
    accessTlsUrl: 'https://127.0.0.1:8444',
  };
  const all = { ...least, ...urls, kubeconfig: 'data/kubeconfig', passwordFile: 'data/initial-admin-password' };
  expect(readyMessage(all)).toBe(`
  svc is ready. Ctrl-C stops it.

  API        http://127.0.0.1:8090, https://127.0.0.1:8443
  Reference  http://127.0.0.1:8090/docs
  Access     http://127.0.0.1:8091, https://127.0.0.1:8444: log in as admin; the password is in data/initial-admin-password
  Token      data/admin-token (the administrator's)
  Try        curl -H "Authorization: Bearer $(cat data/admin-token)" http://127.0.0.1:8090/api/v1/namespaces
             kubectl --kubeconfig data/kubeconfig get namespaces
  Next       README.md, "First success": declare a model, and use its API

`);
});

test('shows the console first, and how to log in there', () => {
  const text = readyMessage({
    ...least,
    accessUrl: 'http://127.0.0.1:8091',
    consoleUrl: 'http://127.0.0.1:8090/console/',
  });
  expect(text).toContain(`
  Console    http://127.0.0.1:8090/console/: log in as admin
  API        http://127.0.0.1:8090
`);
  expect(text).toContain('  Access     http://127.0.0.1:8091\n');
});

test('absent parts are not mentioned', () => {
  expect(readyMessage(least)).not.toMatch(/Access|Console|kubectl|undefined/);
  expect(readyMessage({ ...least, accessUrl: 'http://127.0.0.1:8091' })).toContain(
    'http://127.0.0.1:8091: log in as admin\n',
  );
});

test('the command works with any path', () => {
  expect(readyMessage({ ...least, tokenFile: "it's mine/admin-token" })).toContain(
    `$(cat 'it'\\''s mine/admin-token')`,
  );
});
