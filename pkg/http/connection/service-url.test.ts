import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { TrustedProxies } from './client-address.ts';
import { ServiceUrl } from './service-url.ts';

interface Case {
  reason: string;
  peer?: string;
  headers: Record<string, string>;
  encrypted?: boolean;
  publicUrl?: string;
  origin: string;
  base: string;
}

const publicUrl = 'https://svc.example.com';
const forwarded = { host: 'inner:8091', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'front.example.com' };
const cases: Case[] = [
  {
    reason: 'the Host header by default',
    headers: { host: 'a:8091' },
    origin: 'http://a:8091',
    base: 'http://a:8091',
  },
  {
    reason: 'the scheme of the connection',
    headers: { host: 'a' },
    encrypted: true,
    origin: 'https://a',
    base: 'https://a',
  },
  {
    reason: 'the header of a trusted proxy',
    peer: '10.0.0.1',
    headers: forwarded,
    origin: 'https://front.example.com',
    base: 'https://front.example.com',
  },
  {
    reason: 'not the header of an untrusted client',
    headers: forwarded,
    origin: 'http://inner:8091',
    base: 'http://inner:8091',
  },
  {
    reason: 'the public URL for links, and the Host header for this client',
    headers: { host: 'a:8091' },
    publicUrl,
    origin: 'http://a:8091',
    base: publicUrl,
  },
  {
    reason: 'the public URL for links, whatever a trusted proxy sends',
    peer: '10.0.0.1',
    headers: forwarded,
    publicUrl,
    origin: 'https://front.example.com',
    base: publicUrl,
  },
  {
    reason: 'https of the public host, if an untrusted proxy terminates TLS',
    headers: { host: 'SVC.example.com' },
    publicUrl,
    origin: publicUrl,
    base: publicUrl,
  },
  {
    reason: 'another port is another origin',
    headers: { host: 'svc.example.com:8091' },
    publicUrl,
    origin: 'http://svc.example.com:8091',
    base: publicUrl,
  },
];
test.each(cases)('$reason', ({ peer = '203.0.113.5', headers, encrypted = false, origin, base, ...given }) => {
  const request = { socket: { remoteAddress: peer, encrypted }, headers } as unknown as IncomingMessage;
  const url = new ServiceUrl(new TrustedProxies(['10.0.0.0/8']), given.publicUrl);
  expect({ origin: url.originOf(request), base: url.baseOf(request) }).toEqual({ origin, base });
  expect(url.ownOrigins(request)).toEqual(given.publicUrl === undefined ? [origin] : [given.publicUrl, origin]);
});
