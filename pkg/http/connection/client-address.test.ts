import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { isAddressRange, TrustedProxies } from './client-address.ts';

function request(remoteAddress: string, headers: Record<string, string> = {}, encrypted = false): IncomingMessage {
  return { socket: { remoteAddress, encrypted }, headers } as unknown as IncomingMessage;
}

const proxies = new TrustedProxies(['10.0.0.0/8', 'fd00::/8', '192.0.2.7']);

describe('the address of a client', () => {
  const cases: { reason: string; peer: string; forwarded?: string; address: string }[] = [
    { reason: 'is that of the connection', peer: '203.0.113.5', address: '203.0.113.5' },
    {
      reason: 'is that of the connection, whatever an untrusted client sends',
      peer: '203.0.113.5',
      forwarded: '198.51.100.1',
      address: '203.0.113.5',
    },
    {
      reason: 'is the one that a trusted proxy sends',
      peer: '10.1.2.3',
      forwarded: '198.51.100.1',
      address: '198.51.100.1',
    },
    {
      reason: 'is the last one that is not a proxy: entries of the client come before it',
      peer: '10.1.2.3',
      forwarded: '1.1.1.1, 198.51.100.1, 10.9.9.9',
      address: '198.51.100.1',
    },
    {
      reason: 'is the first if all are proxies',
      peer: '10.1.2.3',
      forwarded: '10.0.0.1, 10.0.0.2',
      address: '10.0.0.1',
    },
    {
      reason: 'ends at an invalid address',
      peer: '10.1.2.3',
      forwarded: '198.51.100.1, nonsense, 10.0.0.2',
      address: '10.0.0.2',
    },
    { reason: 'may have a port', peer: '10.1.2.3', forwarded: '198.51.100.1:4711', address: '198.51.100.1' },
    { reason: 'may be in brackets', peer: 'fd00::1', forwarded: '[2001:db8::1]:443', address: '2001:db8::1' },
    {
      reason: 'of IPv4 mapped to IPv6 is IPv4, also of a proxy',
      peer: '::ffff:192.0.2.7',
      forwarded: '::ffff:198.51.100.1',
      address: '198.51.100.1',
    },
    {
      reason: 'is not displaced by entries of the client',
      peer: '10.1.2.3',
      forwarded: `${'1.1.1.1, '.repeat(256)}198.51.100.1`,
      address: '198.51.100.1',
    },
    { reason: 'is that of the proxy if it sends none', peer: '10.1.2.3', address: '10.1.2.3' },
  ];
  test.each(cases)('$reason', ({ peer, forwarded, address }) => {
    expect(proxies.addressOf(request(peer, forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }))).toBe(
      address,
    );
  });
});

describe('the origin of the server', () => {
  const cases: {
    reason: string;
    peer: string;
    headers: Record<string, string>;
    encrypted?: boolean;
    origin: string;
  }[] = [
    {
      reason: 'is the host that the client requested',
      peer: '203.0.113.5',
      headers: { host: 'svc.example:8091' },
      origin: 'http://svc.example:8091',
    },
    {
      reason: 'knows TLS',
      peer: '203.0.113.5',
      headers: { host: 'svc.example' },
      encrypted: true,
      origin: 'https://svc.example',
    },
    {
      reason: 'is the one that a trusted proxy sends',
      peer: '10.1.2.3',
      headers: { host: 'inner:8091', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'svc.example' },
      origin: 'https://svc.example',
    },
    {
      reason: 'is not what an untrusted client sends',
      peer: '203.0.113.5',
      headers: { host: 'inner:8091', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' },
      origin: 'http://inner:8091',
    },
    { reason: 'has only a host', peer: '203.0.113.5', headers: { host: 'a b' }, origin: 'http://localhost' },
    { reason: 'has no path', peer: '203.0.113.5', headers: { host: 'a.example/path' }, origin: 'http://a.example' },
  ];
  test.each(cases)('$reason', ({ peer, headers, encrypted = false, origin }) => {
    expect(proxies.originOf(request(peer, headers, encrypted))).toBe(origin);
  });
});

test.each(['10.0.0.0/33', '10.0.0/8', 'a', '', '::1/129', '10.0.0.1/8/8', '1.2.3.4/-1', '1.2.3.4/'])(
  '%j is not a range',
  (text) => {
    expect(isAddressRange(text)).toBe(false);
  },
);
test.each(['10.0.0.0/8', '127.0.0.1', '::1', 'fd00::/8', '0.0.0.0/0'])('%j is a range', (text) => {
  expect(isAddressRange(text)).toBe(true);
});
