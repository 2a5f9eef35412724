import { expect, test } from '@jest/globals';
import { isWebhookHost, WebhookPolicy } from './webhook-policy.ts';

test.each([
  { host: 'hooks.example.com', url: 'https://hooks.example.com/x', isAllowed: true },
  { host: 'hooks.example.com', url: 'https://HOOKS.example.com:443/x', isAllowed: true },
  { host: 'hooks.example.com', url: 'https://hooks.example.com:8443/x', isAllowed: false },
  { host: 'hooks.example.com', url: 'https://evil.hooks.example.com', isAllowed: false },
  { host: 'hooks.example.com', url: 'https://hooks.example.com.', isAllowed: false },
  { host: 'hooks.example.com:8443', url: 'https://hooks.example.com:8443', isAllowed: true },
  { host: '*.example.com', url: 'https://a.b.example.com', isAllowed: true },
  { host: '*.example.com', url: 'https://example.com', isAllowed: false },
  { host: '*.example.com', url: 'https://evilexample.com', isAllowed: false },
  { host: '[::1]:8443', url: 'https://[0:0::1]:8443', isAllowed: true },
  { host: '127.0.0.1', url: 'https://0x7f000001', isAllowed: true },
])('$host, asked for $url: $isAllowed', ({ host, url, isAllowed }) => {
  expect(isWebhookHost(host)).toBe(true);
  expect(new WebhookPolicy({ allowedHosts: [host] }).allowsHost(new URL(url))).toBe(isAllowed);
});

test.each(['', '*', 'https://a', 'a/b', 'a:', 'a:x', 'a:70000', 'a b', 'u@a', '*.*.a', '[::1', '127.1'])(
  '%j is no host',
  (host) => expect(isWebhookHost(host)).toBe(false),
);

test.each([
  '127.0.0.1',
  '10.1.2.3',
  '100.64.0.1',
  '169.254.169.254',
  '172.31.0.1',
  '192.168.1.1',
  '0.0.0.0',
  '224.0.0.1',
  '255.255.255.255',
  '::1',
  '::',
  '::ffff:127.0.0.1',
  '::ffff:a9fe:a9fe',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  'fd00::1',
  'fe80::1',
  'ff02::1',
])('%s is not public', (address) => {
  expect(new WebhookPolicy().allowsAddress(address)).toBe(false);
});

test('a public address is allowed, and others in the networks that are named', () => {
  const policy = new WebhookPolicy({ allowedNetworks: ['10.0.0.0/8', 'fd00::/8'] });
  expect(['8.8.8.8', '2606:4700::1111', '10.1.2.3', 'fd12::1'].map((address) => policy.allowsAddress(address))).toEqual(
    [true, true, true, true],
  );
  expect(['127.0.0.1', '192.168.0.1', 'fe80::1'].map((address) => policy.allowsAddress(address))).toEqual([
    false,
    false,
    false,
  ]);
});
