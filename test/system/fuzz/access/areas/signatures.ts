import { createHash } from 'node:crypto';
import { signDraft, signMessage, type UnsignedRequest } from '../../../../../pkg/access/access-keys/keytest/sign.ts';
import { hostileText, mutateText } from '../../areas/hostile-text.ts';
import type { WireRequest } from '../../../harness/wire/wire-request.ts';
import { percent, type AttackArea, type FuzzCase } from '../../fuzz-case.ts';
import type { SeededRandom } from '../../../harness/seeded-random.ts';
import type { AccessUsers } from '../../../harness/client/access-users.ts';
import { headerText, loginPath, profilePath, usersPath } from './requests.ts';

const origin = 'http://fuzz';

/** The server ignores clocks here, so that a case is the same whenever it runs. */
function date(random: SeededRandom): string {
  return new Date(Date.UTC(2020, 0, 1) + random.below(300_000_000) * 1000).toUTCString();
}

function unsigned(random: SeededRandom): UnsignedRequest {
  const query = random.chance(0.5) ? '' : `?limit=1&q=${percent(hostileText(random)).slice(0, 500)}&%41=+%2f`;
  return {
    method: 'GET',
    target: random.pick([`${usersPath}${query}`, `${profilePath}${query}`, profilePath.slice(0, -1)]),
    headers: {
      Accept: random.pick(['application/json', '*/*', '', 'a, b']),
      Date: date(random),
      'X-A': headerText(random).trim(),
    },
  };
}

function draft(random: SeededRandom, { accessKey: { id: keyId, secret } }: AccessUsers): WireRequest {
  const request = unsigned(random);
  const names = random.pick([
    ['(request-target)', 'date'],
    ['(request-target)', 'accept', 'date'],
    ['date', 'x-a', '(request-target)'],
  ]);
  const algorithm = random.pick([undefined, 'hmac-sha256', 'hmac-sha512', 'hs2019']);
  return sent(request, {
    Authorization: signDraft(request, { keyId, secret, names, ...(algorithm === undefined ? {} : { algorithm }) }),
  });
}

function message(random: SeededRandom, { accessKey: { id: keyId, secret } }: AccessUsers): WireRequest {
  const request = unsigned(random);
  const components = random.pick([
    ['@method', '@target-uri'],
    ['@path', '@query', '@method', 'accept'],
    ['@method', '@target-uri', 'x-a', '@authority'],
  ]);
  const more = random.pick([';alg="hmac-sha256"', '', ';tag="x"']);
  return sent(request, {
    ...signMessage(request, {
      keyId,
      secret,
      origin,
      created: 1_577_836_800 + random.below(300_000_000),
      components,
      more,
    }),
  });
}

function sent({ method, target, headers }: UnsignedRequest, more: Record<string, string>): WireRequest {
  return { method, target, headers: Object.entries({ ...headers, ...more }), isAnonymous: true };
}

/** The digest of a different body. */
function ofAnotherBody(random: SeededRandom, { accessKey: { id: keyId, secret } }: AccessUsers): WireRequest {
  const digest = createHash('sha256').update('{"name":"x"}').digest('base64');
  const request = {
    method: 'PATCH',
    target: profilePath,
    headers: { Date: date(random), Digest: `SHA-256=${digest}`, 'Content-Type': 'application/json' },
  };
  const names = ['(request-target)', 'date', 'digest'];
  return {
    ...sent(request, { Authorization: signDraft(request, { keyId, secret, names }) }),
    body: Buffer.from('{"name":"y"}'),
  };
}

/** Changes one part of a signed request. */
function broken(random: SeededRandom, request: WireRequest): WireRequest {
  const at = request.headers.findIndex(([name]) => /^(?:authorization|signature|signature-input)$/i.test(name));
  const change = (index: number, to: (value: string) => string): WireRequest => ({
    ...request,
    headers: request.headers.map(([name, value], each) => (each === index ? [name, to(value)] : [name, value])),
  });
  return random.one<WireRequest>(
    () => ({ ...request, target: `${request.target}${request.target.includes('?') ? '&' : '?'}a` }),
    () => ({ ...request, method: 'DELETE' }),
    () => change(at, (value) => value.replace(/[0-9a-f]{8}-/, 'ffffffff-')),
    () => change(at, (value) => value.replace(/signature="|sig1=/, (found) => `${found}AAAA`)),
    () => change(at, (value) => value.slice(0, random.below(value.length))),
    () => ({ ...request, headers: request.headers.filter((_, each) => each !== at) }),
  );
}

/** Requests signed with an access key: valid ones are accepted for any path; after any change they are refused. */
export const signatures: AttackArea<AccessUsers> = {
  name: 'access signatures',
  weight: 8,
  generate(random, fixtures) {
    const request = random.chance(0.5) ? draft(random, fixtures) : message(random, fixtures);
    const isLetIn = (status: number): boolean => status === 200 || status === 400;
    return random.one<Omit<FuzzCase, 'area'>>(
      () => ({
        changes: 'never',
        requests: [request],
        judge: ([answer]) =>
          answer === undefined || isLetIn(answer.status) ? undefined : `rightly signed: ${answer.status}`,
      }),
      () => refused(broken(random, request)),
      () => refused(broken(random, request)),
      () => refused(ofAnotherBody(random, fixtures)),
      // The result of these is unspecified.
      () => ({ changes: 'never', requests: [garbled(random, request)] }),
      () => ({ changes: 'never', requests: [garbled(random, request)] }),
    );
  },
};

function refused(request: WireRequest): Omit<FuzzCase, 'area'> {
  const expected = isMalformed(request.target) ? 400 : 401;
  return {
    changes: 'never',
    requests: [request],
    judge: ([answer]) =>
      answer === undefined || answer.status === expected ? undefined : `wrongly signed: ${answer.status}`,
  };
}

/** A query that ends inside an escape is always a 400. */
function isMalformed(target: string): boolean {
  try {
    decodeURIComponent(target);
    return false;
  } catch {
    return true;
  }
}

const pieces = [
  'headers="(request-target) date"',
  'headers=""',
  'headers="date date"',
  'headers="(created)"',
  'headers="__proto__"',
  'created=1',
  'created="x"',
  'expires=99999999999999999999',
  'algorithm="none"',
  'algorithm="rsa-sha256"',
  'keyId=""',
  'signature=""',
  'signature="===="',
  'sig1=();created=1',
  'sig1=("@method";sf)',
  'sig1=("@status")',
  ';nonce="x"',
  ':::',
  '\\"',
  '"',
];
const dates = [
  '',
  '0',
  'Thu, 01 Jan 1970 00:00:00 GMT',
  'Fri, 31 Feb 2026 00:00:00 GMT',
  'Thursday, 01-Jan-70 00:00:00 GMT',
  'Thu Jan  1 00:00:00 1970',
  'Thu, 01 Jan 99999 00:00:00 GMT',
  'Thu, 01 Jan 2026 24:60:60 +9999',
];

function garbled(random: SeededRandom, request: WireRequest): WireRequest {
  const headers = request.headers.map(([name, value]): [string, string] => {
    if (name === 'Date')
      return [
        name,
        random.chance(0.5) ? random.pick(dates) : mutateText(random, value).replaceAll(/[^\x20-\x7e]/g, ''),
      ];
    if (!/^(?:authorization|signature|signature-input)$/i.test(name) || random.chance(0.3)) return [name, value];
    const at = random.below(value.length + 1);
    return [
      name,
      random.one(
        () => `${value.slice(0, at)}${random.pick(pieces)}${value.slice(at)}`,
        () => `${value},${random.pick(pieces)}`,
        () => mutateText(random, value).replaceAll(/[^\x20-\x7e]/g, ''),
        () => `Signature ${random.some(5, () => random.pick(pieces)).join(',')}`,
      ),
    ];
  });
  return {
    ...request,
    target: random.chance(0.2) ? loginPath : request.target,
    headers: random.chance(0.2) ? [...headers, random.pick(headers)] : headers,
  };
}
