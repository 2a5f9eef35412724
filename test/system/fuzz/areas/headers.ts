import { get, type WireRequest } from '../../harness/wire/wire-request.ts';
import type { AttackArea, FuzzCase } from '../fuzz-case.ts';
import { caseName } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { group, type FuzzTargets } from '../fuzz-targets.ts';
import { hostileText, mutateText } from './hostile-text.ts';

const mediaTypes = [
  'application/json',
  '*/*',
  'application/*',
  'application/yaml',
  'application/problem+json',
  'application/json;q=0',
  'application/json;q=0.0001',
  'application/json;q=2',
  'application/json;q=',
  'text/html, application/json;q=0.5',
  ';',
  ',',
  ',,,',
  'a/b;c="d,e"',
  'a/b;c="',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf',
  'application/json; charset="utf-8"',
  'application/json;charset=utf-16',
  'APPLICATION/JSON',
  'application/json, '.repeat(300),
  '*',
  '/',
  'a/',
  '/b',
  'text/event-stream',
];

/** Valid header characters; others are tested on raw sockets. */
function headerText(random: SeededRandom): string {
  const text = random.chance(0.5) ? hostileText(random) : mutateText(random, random.pick(mediaTypes));
  return Buffer.from(text)
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '');
}

const headerNames = [
  'X-A',
  'Accept',
  'Accept-Charset',
  'Accept-Language',
  'User-Agent',
  'Cookie',
  'Forwarded',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'Via',
  'Range',
  'If-Modified-Since',
  'If-None-Match',
  'If-Match',
  'If-Range',
  'TE',
  'Trailer',
  'Cache-Control',
  'Pragma',
  'Referer',
  'X-HTTP-Method-Override',
  'X-Original-URL',
  'Connection',
  'Keep-Alive',
  'Last-Event-ID',
  '__proto__',
  'constructor',
  'toString',
  'X-SVC-ORG',
  'Date',
  'Digest',
  'Max-Forwards',
];

function header(random: SeededRandom): [string, string] {
  return random.one<[string, string]>(
    () => ['Accept', random.chance(0.6) ? random.pick(mediaTypes) : headerText(random)],
    () => [
      'Accept-Encoding',
      random.pick(['gzip', 'gzip;q=0', 'identity;q=0', '*', '*;q=0', 'br', 'gzip;q=x', headerText(random)]),
    ],
    () => ['X-Request-Id', random.pick(['ok-1', 'a'.repeat(65), 'a b', '<x>', '${jndi:x}', headerText(random)])],
    () => ['Origin', random.pick(['http://evil.example', 'null', '*', 'http://', headerText(random)])],
    () => [
      'If-None-Match',
      random.pick(['*', '"1"', 'W/"1"', '"', '"a","b"', ',', 'x', '"x'.repeat(2000), headerText(random)]),
    ],
    () => ['If-Match', random.pick(['*', '"1"', 'W/"1"', '"', ',', headerText(random)])],
    () => [
      random.pick([
        'Impersonate-User',
        'Impersonate-Group',
        'Impersonate-Uid',
        'Impersonate-Extra-x',
        'impersonate-extra-',
      ]),
      headerText(random),
    ],
    () => [
      random.pick(headerNames),
      random.chance(0.1) ? 'x'.repeat(random.pick([8000, 31_000, 40_000])) : headerText(random),
    ],
    () => ['Content-Type', random.chance(0.7) ? random.pick(mediaTypes) : headerText(random)],
    () => ['Content-Encoding', random.pick(['gzip', 'identity', '', 'br', 'gzip, gzip', 'x'])],
    () => ['Expect', random.pick(['100-continue', '100-Continue', 'x', ''])],
    () => ['Access-Control-Request-Method', random.pick(['PUT', 'x', ''])],
  );
}

const authorizations = [
  '',
  'Bearer',
  'Bearer ',
  'Bearer  x',
  'bearer $X',
  'Basic',
  'Basic eDp5',
  'Basic ====',
  'Basic \xff',
  `Basic ${Buffer.from('a\0b:c').toString('base64')}`,
  'Token x',
  'Negotiate x',
  'Bearer pat_',
  `Bearer pat_${'a'.repeat(36)}`,
  `Bearer ${'a'.repeat(20_000)}`,
  'Bearer a,b',
  'Bearer a b',
  'Digest username="x"',
  'Bearer \xe9',
  'Bearer __proto__',
  'AWS4-HMAC-SHA256 x',
  ',',
  '='.repeat(1000),
];
/** Sessions that do not exist. */
const cookies = [
  'svc_sessionid=',
  `svc_sessionid=${'a'.repeat(36)}`,
  `a=b; svc_sessionid="${'0'.repeat(36)}"; svc_sessionid=x`,
  'svc_sessionid=\xe9',
  '=;=;;',
  'svc_sessionid',
];

function withoutPermission(random: SeededRandom, fixtures: FuzzTargets): Omit<FuzzCase, 'area'> {
  const value = random.chance(0.2)
    ? `Bearer ${mutateText(random, fixtures.token)}`.replaceAll(/[^\x20-\x7e]/g, '')
    : random.pick(authorizations);
  const isCookie = random.chance(0.2);
  const headers: WireRequest['headers'] = isCookie
    ? [
        ['Cookie', random.pick(cookies)],
        ['X-CSRFToken', 'x'],
        ['Origin', 'http://fuzz'],
      ]
    : [['Authorization', value === `Bearer ${fixtures.token}` ? 'x' : value]];
  const method = random.pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
  const body = method === 'GET' || method === 'HEAD' ? {} : { body: Buffer.from('{}') };
  const request: WireRequest = {
    method,
    target: random.pick([
      fixtures.posts,
      `${fixtures.posts}/p1`,
      '/metrics',
      '/openapi/v3',
      '/apis',
      '/nope',
      '/docs/openapi/extension.json',
    ]),
    headers,
    isAnonymous: true,
    ...body,
  };
  return {
    changes: 'never',
    requests: [request],
    judge: ([answer]) =>
      answer === undefined || [400, 401, 431].includes(answer.status) || (method === 'OPTIONS' && answer.status === 204)
        ? undefined
        : `without a valid credential: ${answer.status}`,
  };
}

/** Headers of any name, value, number and size; credentials; preconditions; idempotency keys. */
export const headers: AttackArea = {
  name: 'headers',
  weight: 8,
  generate(random, fixtures) {
    if (random.chance(0.25)) return withoutPermission(random, fixtures);
    const list = random.some(random.chance(0.05) ? random.pick([100, 255, 260, 400]) : 4, () => header(random));
    const name = caseName(random);
    const post: WireRequest = {
      method: 'POST',
      target: fixtures.frees,
      headers: list,
      body: Buffer.from(JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Free', metadata: { name } })),
    };
    const key = random.pick([
      'k',
      '',
      ' ',
      'a'.repeat(255),
      'a'.repeat(256),
      '\xe9',
      'a,b',
      `k${random.below(50)}`,
      headerText(random),
    ]);
    return random.one<Omit<FuzzCase, 'area'>>(
      () => ({
        changes: 'never',
        requests: [
          get(
            random.pick([
              fixtures.posts,
              `${fixtures.posts}/p1`,
              '/livez',
              '/version',
              '/apis',
              `/apis/${group}/v1`,
              '/docs/',
              '/openapi/v3',
              '/metrics',
              '/nope',
            ]),
            list,
          ),
        ],
      }),
      () => ({
        changes: 'never',
        requests: [
          { method: 'HEAD', target: random.pick([fixtures.posts, `${fixtures.posts}/p1`, '/livez']), headers: list },
        ],
      }),
      () => ({ changes: 'maybe', requests: [post] }),
      () => ({
        changes: 'maybe',
        requests: [
          {
            ...post,
            headers: [
              ['Content-Type', 'application/json'],
              ['Idempotency-Key', key],
            ],
          },
        ],
      }),
    );
  },
};
