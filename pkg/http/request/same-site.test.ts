import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { TrustedProxies } from '../connection/client-address.ts';
import { ServiceUrl } from '../connection/service-url.ts';
import { isCrossSite, isSameSite } from './same-site.ts';

const allowedOrigins = new Set(['https://app.example.org']);

test.each<{ headers: Record<string, string>; tls?: boolean; publicUrl?: string; is: boolean; reason: string }>([
  { headers: { origin: 'http://svc.example.com' }, is: true, reason: 'a page of this host' },
  {
    headers: { origin: 'http://svc.example.com:8091' },
    is: true,
    reason: 'a page of another port, as the login page is',
  },
  { headers: { origin: 'http://SVC.example.com' }, is: true, reason: 'a host in other letter case' },
  { headers: { origin: 'https://svc.example.com' }, is: true, reason: 'TLS may end before this server' },
  { headers: { origin: 'http://svc.example.com' }, tls: true, is: false, reason: 'a page without TLS can be forged' },
  {
    headers: { origin: 'https://svc.example.com', 'sec-fetch-site': 'same-origin' },
    tls: true,
    is: true,
    reason: 'both headers say so',
  },
  { headers: { origin: 'https://evil.example.com' }, is: false, reason: 'another host' },
  { headers: { origin: 'https://svc.example.com.evil.com' }, is: false, reason: 'a host that begins like this one' },
  { headers: { origin: 'null' }, is: false, reason: 'a page that hides where it is from' },
  { headers: { origin: '' }, is: false, reason: 'an empty origin' },
  {
    headers: { origin: 'http://svc.example.com', 'sec-fetch-site': 'cross-site' },
    is: false,
    reason: 'Sec-Fetch-Site takes precedence',
  },
  { headers: { 'sec-fetch-site': 'same-site' }, is: true, reason: 'a browser that sends no Origin' },
  { headers: { 'sec-fetch-site': 'none' }, is: false, reason: 'typed into the address bar, which changes nothing' },
  { headers: {}, is: false, reason: 'no headers' },
  {
    headers: { origin: 'https://app.example.org', 'sec-fetch-site': 'cross-site' },
    is: true,
    reason: 'an origin that is allowed',
  },
  {
    headers: { origin: 'https://public.example.com' },
    publicUrl: 'https://public.example.com',
    is: true,
    reason: 'the public address, behind a proxy that sends another host',
  },
  {
    headers: { origin: 'http://public.example.com' },
    publicUrl: 'https://public.example.com',
    is: false,
    reason: 'the public address has TLS',
  },
  {
    headers: { origin: 'http://svc.example.com' },
    publicUrl: 'https://svc.example.com',
    is: false,
    reason: 'the public address has TLS, which a proxy ends',
  },
  {
    headers: { origin: 'http://svc.example.com' },
    publicUrl: 'https://public.example.com',
    is: true,
    reason: 'a request that bypasses the proxy',
  },
  { headers: { origin: 'chrome-extension://svc.example.com' }, is: false, reason: 'no page' },
])('$headers is $is: $reason', ({ headers, tls = false, publicUrl, is }) => {
  const request = Object.assign(new IncomingMessage(Object.assign(new Socket(), { encrypted: tls })), {
    headers: { host: 'svc.example.com', ...headers },
  });
  const options = { url: new ServiceUrl(new TrustedProxies([]), publicUrl), allowedOrigins };
  expect(isSameSite(request, options)).toBe(is);
  const says = 'origin' in headers || 'sec-fetch-site' in headers;
  expect(isCrossSite(request, options)).toBe(says && !is);
});
