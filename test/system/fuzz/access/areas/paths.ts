import { mutateBytes, mutateText } from '../../areas/hostile-text.ts';
import type { WireRequest } from '../../../harness/wire/wire-request.ts';
import type { AttackArea } from '../../fuzz-case.ts';
import type { SeededRandom } from '../../../harness/seeded-random.ts';
import type { AccessUsers } from '../../../harness/client/access-users.ts';
import { anyCaller, asCaller, headerText, protectedPaths } from './requests.ts';

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
  '%20',
  '*',
  '@',
  ':',
  '|',
  '"',
  '<',
  '~',
  '%7e',
  '{id}',
  '__proto__',
  '\xe9',
  ' ',
  '\t',
  '\x01',
];
const methods = [
  'GET',
  'GET',
  'GET',
  'GET',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'PURGE',
  'get',
  'FOO',
  'CONNECT',
  'QUERY',
];
const open = [
  '/',
  '/login/',
  '/settings/',
  '/api/docs/',
  '/api/openapi.json',
  '/assets/style.css',
  '/livez',
  '/readyz',
  '/healthz',
  '/version',
  '/api',
  '/api/v1/',
  '/api/v1/users',
];
const headerNames = [
  'X-A',
  'Accept',
  'Accept-Encoding',
  'Cookie',
  'Forwarded',
  'X-Forwarded-For',
  'X-SVC-Forwarded',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Real-IP',
  'Range',
  'If-None-Match',
  'If-Modified-Since',
  'Origin',
  'Referer',
  'Sec-Fetch-Site',
  'X-HTTP-Method-Override',
  'X-Request-Id',
  'Content-Type',
  'Content-Encoding',
  'Expect',
  'Idempotency-Key',
  'Date',
  'Digest',
  'Signature',
  'X-CSRFToken',
  'X-SVC-ORG',
  '__proto__',
  'constructor',
  'TE',
  'Connection',
  'Upgrade',
  'Host',
];
const framings = [
  'Content-Length: 2\r\n\r\n{}',
  'Content-Length: 20\r\n\r\n{}',
  'Content-Length: 1\r\n\r\n{}',
  'Content-Length: -1\r\n\r\n{}',
  'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
  'Content-Length: 99999999\r\n\r\n{}',
  'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  'Transfer-Encoding: chunked\r\n\r\nzz\r\n',
  'Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  'Transfer-Encoding: gzip\r\n\r\n{}',
  'Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}',
  'Expect: x\r\nContent-Length: 2\r\n\r\n{}',
  'Host: other\r\n\r\n',
  'X\u0000: a\r\n\r\n',
  'Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
  `${'X: y\r\n'.repeat(3000)}\r\n`,
  `X: ${'y'.repeat(200_000)}\r\n\r\n`,
  `Cookie: ${'a=b; '.repeat(5000)}\r\n\r\n`,
  '\r\n',
];

function target(random: SeededRandom): string {
  const path = random.pick([...protectedPaths, ...open]);
  const at = random.below(path.length + 1);
  return random.one(
    () => path,
    () => path.slice(0, at) + random.pick(inserts) + path.slice(at),
    () => path.slice(0, at) + random.pick(inserts) + path.slice(at) + random.pick(inserts),
    () => mutateText(random, path),
    () => path.toUpperCase(),
    () => `${path}${'/a'.repeat(random.pick([1, 50, 30_000]))}`,
    () => `${random.pick(['http://127.0.0.1', '//x', 'http://x@y', 'file://'])}${path}`,
  );
}

/** Unusual paths, methods, headers and framings, over raw sockets if no client can send them. */
export const paths: AttackArea<AccessUsers> = {
  name: 'access paths',
  weight: 8,
  generate(random, fixtures) {
    const wanted = target(random);
    const method = random.pick(methods);
    const list = random.some(random.chance(0.05) ? random.pick([100, 255, 260]) : 4, (): [string, string] => [
      random.pick(headerNames),
      random.chance(0.05) ? 'x'.repeat(random.pick([8000, 40_000])) : headerText(random),
    ]);
    const isPlain = /^\/[\x21-\x7e]*$/.test(wanted) && /^(?:GET|HEAD|OPTIONS|PROPFIND|PURGE)$/.test(method);
    const plain: WireRequest = {
      method,
      target: wanted,
      headers: list.filter(([name]) => !['Connection', 'Upgrade', 'Host', 'Expect', 'TE'].includes(name)),
    };
    if (isPlain && random.chance(0.5))
      return {
        changes: 'never',
        requests: [random.chance(0.5) ? { ...plain, isAnonymous: true } : asCaller(plain, anyCaller(random, fixtures))],
      };
    const verb = random.chance(0.6) ? method : 'POST';
    const lines = [
      `${verb} ${wanted} HTTP/1.1`,
      'Host: fuzz',
      'Content-Type: application/json',
      ...(random.chance(0.7) ? ['Authorization: Bearer $TOKEN'] : []),
      ...list.slice(0, 3).map(([name, value]) => `${name}: ${value}`),
    ];
    const bytes = Buffer.from(`${lines.join('\r\n')}\r\n${random.pick(framings)}`, 'latin1');
    const sent = random.chance(0.2) ? mutateBytes(random, bytes) : bytes;
    const cut = random.below(sent.length + 1);
    // An empty body may create an access key; a user can have ten.
    return {
      changes: 'maybe',
      requests: [
        {
          method: verb,
          target: '',
          headers: [],
          raw: random.chance(0.3) ? [sent.subarray(0, cut), sent.subarray(cut)] : [sent],
          ending: 'close',
        },
      ],
    };
  },
};
