import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { TrustedProxies } from '../connection/client-address.ts';
import { ServiceUrl } from '../connection/service-url.ts';
import type { RequestContext } from '../request/request-context.ts';
import { withWebSocketOrigin } from './with-web-socket-origin.ts';

interface Case {
  headers: Record<string, string>;
  is: 'served' | 'refused';
  reason: string;
  byProtocol?: boolean;
  isPlain?: boolean;
}

const foreign = { origin: 'https://evil.example.net' };

test.each<Case>([
  { headers: {}, is: 'served', reason: 'no browser: it sends no Origin' },
  { headers: { origin: 'http://svc.example.com' }, is: 'served', reason: 'a page of this host' },
  { headers: { origin: 'https://app.example.org' }, is: 'served', reason: 'a page of an allowed origin' },
  { headers: foreign, is: 'refused', reason: 'an anonymous page: it could read what the visitor can reach' },
  { headers: { ...foreign, cookie: 'svc_sessionid=x' }, is: 'refused', reason: "a page with the visitor's session" },
  { headers: { origin: 'null' }, is: 'refused', reason: 'a page in a sandbox' },
  { headers: { 'sec-fetch-site': 'cross-site' }, is: 'refused', reason: 'a page that hides its Origin' },
  { headers: { ...foreign, authorization: 'Bearer t' }, is: 'served', reason: 'no page can set this header' },
  { headers: { ...foreign, authorization: 'basic dTpw' }, is: 'refused', reason: 'browsers send Basic on their own' },
  { headers: { ...foreign, authorization: '' }, is: 'refused', reason: 'an empty header is no credential' },
  { headers: { ...foreign, authorization: 'Bearer t' }, byProtocol: true, is: 'refused', reason: 'pages can send it' },
  { headers: foreign, isPlain: true, is: 'served', reason: 'CORS decides about other requests' },
])('$is: $reason', async ({ headers, is, byProtocol = false, isPlain = false }) => {
  const filter = withWebSocketOrigin({
    url: new ServiceUrl(new TrustedProxies([])),
    allowedOrigins: new Set(['https://app.example.org']),
  });
  const request = { headers: { host: 'svc.example.com', ...headers }, socket: {} } as unknown as IncomingMessage;
  const context = { request, webSocket: isPlain ? undefined : { hasTokenProtocol: byProtocol } };
  const answer = filter(() => Promise.resolve())(context as RequestContext);
  if (is === 'served') await answer;
  else await expect(answer).rejects.toMatchObject({ code: 403, message: expect.stringContaining('allowed origins') });
});
