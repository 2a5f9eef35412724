import type { WireRequest } from '../../harness/wire/wire-request.ts';
import type { AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { group, type FuzzTargets } from '../fuzz-targets.ts';
import { hostileText, mutateText } from './hostile-text.ts';

const methods = [
  'GET',
  'GET',
  'GET',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'LOCK',
  'SEARCH',
  'REPORT',
  'M-SEARCH',
  'PURGE',
  'get',
  'FOO',
  'CONNECT',
  'QUERY',
];

const inserts = [
  '%2F',
  '%2f',
  '%5C',
  '\\',
  '%2e',
  '%2e%2e',
  '..',
  '.',
  '//',
  '/./',
  '/../',
  '%00',
  '%0d%0a',
  '%252F',
  '%252e%252e',
  '%',
  '%f',
  '%zz',
  '%ff',
  '%c0%af',
  '%ed%a0%80',
  ';a=b',
  '?',
  '??',
  '#',
  '%23',
  '%3F',
  '+',
  ' ',
  '%20',
  '\t',
  '*',
  '\x01',
  '\xe9',
  '@',
  ':',
  '|',
  '"',
  '<',
  '~',
  '%7e',
];

function paths({ posts, notes }: FuzzTargets): string[] {
  return [
    posts,
    `${posts}/p1`,
    `${posts}/p1/status`,
    notes,
    `/apis/${group}/v1`,
    `/apis/${group}`,
    '/apis',
    '/apis/',
    '/api',
    '/api/v1',
    '/api/v1/namespaces/default',
    '/api/v1/namespaces/default/status',
    '/openapi/v3',
    '/openapi/v2',
    `/openapi/v3/apis/${group}/v1`,
    '/docs',
    '/docs/',
    '/docs/swagger-ui.css',
    '/docs/openapi/extension.json',
    '/livez',
    '/readyz',
    '/healthz',
    '/version',
    '/metrics',
    '/debug/flags/log-level',
    '/apis/audit.k8s.io/v1/events',
    '/',
  ];
}

const auditQuery =
  'user=a&verb=get&code=200&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z&limit=2&continue=WyIyMDI2LTAxLTAxVDAwOjAwOjAwLjAwMFoiLCIiLDBd';

function target(random: SeededRandom, fixtures: FuzzTargets): string {
  const path = random.pick(paths(fixtures));
  const at = random.below(path.length + 1);
  return random.one(
    () => path,
    () => path.slice(0, at) + random.pick(inserts) + path.slice(at),
    () => path.slice(0, at) + random.pick(inserts) + path.slice(at) + random.pick(inserts),
    () => mutateText(random, path),
    () => path.toUpperCase(),
    () => `${path}${'/a'.repeat(random.pick([1, 50, 30_000]))}`,
    () => `${path}?${'a=b&'.repeat(random.pick([1, 100, 16_000]))}`,
    () => `/apis/audit.k8s.io/v1/events?${mutateText(random, auditQuery)}`,
    () => `${path}?${mutateText(random, 'watch=false&limit=1&labelSelector=%ff&page=%')}`,
    () =>
      `http://${random.pick(['fuzz', 'evil.example', 'a@b', '[::1]', '', ':', 'fuzz:99999', hostileText(random)])}${path}`,
    () => `${random.pick(['https://x', 'ftp://x', 'HTTP://x', 'http:', 'http:/', 'file://', 'x:'])}${path}`,
    () =>
      random.pick([
        '*',
        '',
        '/',
        '//',
        '///',
        '//evil.example/',
        '/%',
        '?',
        '#',
        'x',
        '.',
        '..',
        '/..',
        '/.%2e/',
        'fuzz:80',
        `/${'a'.repeat(70_000)}`,
      ]),
    () =>
      path
        .split('')
        .map((character) =>
          random.chance(0.3) && character !== '/' ? `%${character.charCodeAt(0).toString(16)}` : character,
        )
        .join(''),
  );
}

/** Methods and request targets that no client library would send. They must not change anything. */
export const targets: AttackArea = {
  name: 'targets',
  weight: 8,
  generate(random, fixtures) {
    const method = random.pick(methods);
    const wanted = target(random, fixtures);
    const plain =
      /^[\x21-\x7e]+$/.test(wanted) &&
      method !== 'CONNECT' &&
      /^[A-Z-]+$/.test(method) &&
      method !== 'FOO' &&
      method !== 'QUERY';
    if (plain && random.chance(0.5))
      return { changes: 'never', requests: [{ method, target: wanted, headers: [], stream: true }] };
    const lines = `${method} ${wanted} HTTP/1.1\r\nHost: fuzz\r\nAuthorization: Bearer $TOKEN\r\nConnection: close\r\n\r\n`;
    const request: WireRequest = {
      method,
      target: wanted,
      headers: [],
      raw: [Buffer.from(lines, 'latin1')],
      ending: 'close',
    };
    return { changes: 'never', requests: [request] };
  },
};
