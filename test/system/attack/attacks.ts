import type { ServicePorts } from './proxy.ts';

/** An attack as plain data, because it is sent to another process. */
export type Attack = Flood | Hold;

interface AttackBase {
  name: string;
  service: keyof ServicePorts;
}

/** Complete requests at a fixed rate, independent of responses. */
export interface Flood extends AttackBase {
  kind: 'flood';
  rate: number;
  method: string;
  path: string;
  /** Each `*` becomes a letter or digit, one of 36. */
  headers: Record<string, string>;
  body?: string;
}

/** A number of connections that are kept open, and reopened when they end. */
export interface Hold extends AttackBase {
  kind: 'hold';
  count: number;
  /** Sent immediately. */
  first: string;
  /** Sent each second afterwards. */
  drip: string;
  /** Whether responses are read. */
  reads: boolean;
  /** Whether the sending half is closed after `first`. */
  isHalfClosed?: boolean;
  /** On the https port; only without the proxy. */
  isTls?: boolean;
}

const post = (path: string, headers = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: svc\r\n${headers}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;
const flood = (
  name: string,
  service: keyof ServicePorts,
  path: string,
  headers: Record<string, string>,
  more: Partial<Flood> = {},
): Flood => ({ kind: 'flood', name, service, rate: 400, method: 'GET', path, headers, ...more });
const hold = (name: string, service: keyof ServicePorts, first: string, more: Partial<Hold> = {}): Hold => ({
  kind: 'hold',
  name,
  service,
  count: 400,
  first,
  drip: 'x',
  reads: true,
  ...more,
});

const profile = '/api/v1/users/profile/';
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const uuid = '00000000-1111-4222-8333-444444444444';
const guess = 'username=nobody-*&password=guess-*';
/** The beginning of a ClientHello of 512 bytes. */
const halfHello = '\x16\x03\x01\x02\x00\x01\x00';
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: svc\r\n\r\n`;
/** Responses so large that the kernel's buffers cannot hold all of them. */
const large: Readonly<Record<keyof ServicePorts, string>> = {
  platform: get('/docs/swagger-ui-bundle.js'),
  access: get('/api/docs/swagger-ui-bundle.js/'),
};
const unread = { count: 100, drip: '', reads: false };

/** Run separately; their rates are limited, so that the machine is not the bottleneck. */
export const attacks: readonly Attack[] = [
  hold('slow bodies, login', 'access', post('/api/v1/authentication/auth/')),
  hold('slow bodies, login form', 'access', post('/login/')),
  hold('slow bodies, protected', 'access', post('/api/v1/users/users/')),
  hold('slow bodies, login', 'platform', post('/api/v1/authentication/auth/')),
  hold('slow bodies, a wrong token', 'platform', post('/api/v1/namespaces', 'Authorization: Bearer x\r\n')),
  hold('slow bodies, open paths', 'platform', post('/docs')),
  hold('slow headers', 'access', 'GET /login/ HTTP/1.1\r\nHost: svc\r\nX-A: ', { count: 300 }),
  hold('slow headers', 'platform', 'GET /docs HTTP/1.1\r\nHost: svc\r\nX-A: ', { count: 300 }),
  hold('connections without a byte', 'access', '', { count: 2500, drip: '' }),
  hold('TLS handshakes half done', 'platform', halfHello, { count: 2500, drip: '', isTls: true }),
  hold('connections without a byte', 'platform', '', { count: 2500, drip: '' }),
  hold('readers that do not read', 'platform', large.platform.repeat(16), unread),
  hold('readers that do not read', 'access', large.access.repeat(16), unread),
  hold('readers that do not read, probes', 'platform', large.platform.repeat(6) + get('/readyz').repeat(10), unread),
  hold('readers that do not read, half closed', 'platform', large.platform.repeat(16), {
    ...unread,
    isHalfClosed: true,
  }),
  flood('wrong Bearer tokens', 'access', profile, { Authorization: 'Bearer *' }),
  flood('wrong private tokens', 'access', profile, { Authorization: 'Token *' }),
  flood('wrong signatures', 'access', profile, {
    Date: '',
    Authorization: `Signature keyId="${uuid}",algorithm="hmac-sha256",headers="(request-target) date",signature="*"`,
  }),
  flood('wrong sessions', 'access', profile, { Cookie: 'svc_sessionid=*' }),
  flood('wrong sessions', 'platform', '/apis', { Cookie: 'svc_sessionid=*' }),
  flood('wrong personal tokens', 'platform', '/api/v1/namespaces', { Authorization: 'Bearer pat_*' }),
  flood('wrong passwords', 'platform', '/apis', { Authorization: 'Basic bm9ib2R5Om5vYm9keQ==' }, { rate: 100 }),
  flood('wrong logins', 'access', '/api/v1/authentication/auth/', form, { rate: 100, method: 'POST', body: guess }),
  flood('wrong logins', 'platform', '/api/v1/authentication/auth/', form, { rate: 100, method: 'POST', body: guess }),
  flood('nobody, documentation', 'platform', '/docs', {}),
  flood('nobody, version', 'platform', '/version', {}),
  flood('nobody, login page', 'access', '/login/', {}),
];
