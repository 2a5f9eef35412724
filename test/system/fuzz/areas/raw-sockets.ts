import type { WireRequest } from '../../harness/wire/wire-request.ts';
import { caseName, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { group, type FuzzTargets } from '../fuzz-targets.ts';
import { hostileText, mutateBytes } from './hostile-text.ts';

const credential = 'Authorization: Bearer $TOKEN\r\n';

function framings(body: string): string[] {
  const { length } = body;
  const chunk = `${length.toString(16)}\r\n${body}\r\n`;
  const chunked = `Transfer-Encoding: chunked\r\n\r\n`;
  return [
    `Content-Length: ${length}\r\n\r\n${body}`,
    `Content-Length: ${length + 10}\r\n\r\n${body}`,
    `Content-Length: ${length - 3}\r\n\r\n${body}`,
    `Content-Length: ${length}\r\nContent-Length: ${length}\r\n\r\n${body}`,
    `Content-Length: ${length}, ${length}\r\n\r\n${body}`,
    `Content-Length: +${length}\r\n\r\n${body}`,
    `Content-Length: -1\r\n\r\n${body}`,
    `Content-Length: 0x10\r\n\r\n${body}`,
    `Content-Length: 99999999999999999999\r\n\r\n${body}`,
    `Content-Length: 99999999\r\n\r\n${body}`,
    `Content-Length:\r\n\r\n${body}`,
    `${chunked}${chunk}0\r\n\r\n`,
    `${chunked}${chunk}0\r\nX: y\r\nContent-Length: 5\r\n\r\n`,
    `${chunked}${chunk}`,
    `${chunked}0\r\n\r\n`,
    `${chunked}${length.toString(16)};x=${'y'.repeat(20_000)}\r\n${body}\r\n0\r\n\r\n`,
    `${chunked}-1\r\n${body}\r\n0\r\n\r\n`,
    `${chunked}fffffffff\r\n${body}`,
    `${chunked}ffffffffffffffffff\r\n${body}`,
    `${chunked}${length.toString(16)}\n${body}\n0\n\n`,
    `${chunked}g\r\n`,
    `${chunked}0x5\r\n`,
    `Transfer-Encoding: gzip, chunked\r\n\r\n${chunk}0\r\n\r\n`,
    `Transfer-Encoding: gzip\r\n\r\n${body}`,
    `Transfer-Encoding: identity\r\n\r\n${body}`,
    `Transfer-Encoding: chunked, identity\r\n\r\n${chunk}0\r\n\r\n`,
    `Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`,
    `Transfer-Encoding: xchunked\r\n\r\n${chunk}0\r\n\r\n`,
    `Transfer-Encoding: chunked\r\nContent-Length: ${length}\r\n\r\n${chunk}0\r\n\r\n`,
    `Transfer-Encoding : chunked\r\n\r\n${chunk}0\r\n\r\n`,
    `Transfer-Encoding:\tchunked\r\n\r\n${chunk}0\r\n\r\n`,
    `Transfer-Encoding: "chunked"\r\n\r\n${chunk}0\r\n\r\n`,
    `transfer-encoding: CHUNKED\r\n\r\n${chunk}0\r\n\r\n`,
    `Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n${body}`,
    `Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`,
    `Content-Encoding: gzip\r\nContent-Length: ${length}\r\n\r\n${body}`,
    `X: a\r\n b: folded\r\nContent-Length: ${length}\r\n\r\n${body}`,
    `X: a\rY: b\r\nContent-Length: ${length}\r\n\r\n${body}`,
    `X\u0000: a\r\n\r\n`,
    `: novalue\r\n\r\n`,
    `X a\r\n\r\n`,
    `X: \u0000\r\n\r\n`,
    `Host: other\r\nContent-Length: ${length}\r\n\r\n${body}`,
    `Authorization: Bearer x\r\nContent-Length: ${length}\r\n\r\n${body}`,
    `${'X: y\r\n'.repeat(3000)}\r\n`,
    `X: ${'y'.repeat(200_000)}\r\n\r\n`,
    `Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    `Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\nContent-Length: ${length}\r\n\r\n${body}`,
    `Trailer: X\r\n\r\n`,
  ];
}

const garbage = [
  '\r\n',
  '\r\n\r\n\r\n',
  '\n',
  '\u0000',
  'GET',
  'GET /',
  'GET / HTTP',
  'GET / HTTP/1.1',
  'GET / HTTP/1.1\r\n',
  'GET / HTTP/0.9\r\n\r\n',
  'GET /\r\n\r\n',
  'GET / HTTP/2.0\r\n\r\n',
  'GET / HTTP/1.2\r\nHost: x\r\n\r\n',
  'GET  / HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET\t/\tHTTP/1.1\r\nHost: x\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\u0016\u0003\u0001\u0000\u0005hello',
  'SSH-2.0-x\r\n',
  '*1\r\n$4\r\nPING\r\n',
  'GET / HTTP/1.1\r\nHost: \r\n\r\n',
  'GET / HTTP/1.1\r\nHost: a b\r\n\r\n',
  'GET / HTTP/1.0\r\n\r\n',
];

function head(random: SeededRandom, { posts, frees }: FuzzTargets): string {
  const line = random.pick([
    `POST ${frees} HTTP/1.1`,
    `POST ${frees} HTTP/1.1`,
    `PUT ${frees}/zz HTTP/1.1`,
    `PATCH ${posts}/p1 HTTP/1.1`,
    `DELETE ${posts}/zz HTTP/1.1`,
    `GET ${posts}/p1 HTTP/1.1`,
    `GET /livez HTTP/1.1`,
    `POST ${frees} HTTP/1.0`,
  ]);
  return `${line}\r\n${random.chance(0.97) ? 'Host: fuzz\r\n' : ''}${credential}Content-Type: application/json\r\n`;
}

function bytes(random: SeededRandom, fixtures: FuzzTargets): string {
  const name = caseName(random);
  const body = JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Free', metadata: { name }, spec: { a: 'b' } });
  const request = (): string => head(random, fixtures) + random.pick(framings(body));
  const honest = `GET ${fixtures.posts}/p1 HTTP/1.1\r\nHost: fuzz\r\n${credential}\r\n`;
  return random.one(
    request,
    request,
    request,
    () => request() + request(),
    () => honest.repeat(random.pick([2, 20, 200])),
    () => random.pick(garbage),
    () => Buffer.from(hostileText(random)).toString('latin1'),
    () => request().slice(0, random.below(600)),
  );
}

/** A valid request followed by other bytes, which must not change its response. */
function honestFirst(random: SeededRandom, fixtures: FuzzTargets): WireRequest {
  const honest = `GET ${fixtures.posts}/p1 HTTP/1.1\r\nHost: fuzz\r\n${credential}\r\n`;
  return {
    method: 'GET',
    target: '',
    headers: [],
    raw: [Buffer.from(honest + random.pick(garbage) + random.pick(['', '\r\n\r\n', 'x'.repeat(70_000)]), 'latin1')],
    ending: 'first answer',
  };
}

/** Bytes on a raw socket: contradicting lengths, encodings, smuggling, pipelines, garbage, truncated requests. */
export const rawSockets: AttackArea = {
  name: 'raw sockets',
  weight: 5,
  generate(random, fixtures) {
    if (random.chance(0.15)) {
      return {
        changes: 'never',
        requests: [honestFirst(random, fixtures)],
        judge: ([answer]) =>
          answer?.status === 200
            ? undefined
            : `an honest request with garbage behind it was answered ${answer?.status ?? 'nothing'}`,
      };
    }
    const all = Buffer.from(bytes(random, fixtures), 'latin1');
    const sent = random.chance(0.2) ? mutateBytes(random, all) : all;
    const cut = random.below(sent.length + 1);
    const waits = random.chance(0.03);
    return {
      changes: 'maybe',
      ...(waits ? { slow: true } : {}),
      requests: [
        {
          method: 'POST',
          target: '',
          headers: [],
          raw: random.chance(0.3) ? [sent.subarray(0, cut), sent.subarray(cut)] : [sent],
          ending: waits ? 'wait' : 'close',
        },
      ],
    };
  },
};
