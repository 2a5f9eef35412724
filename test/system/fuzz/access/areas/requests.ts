import { hostileText, mutateText } from '../../areas/hostile-text.ts';
import { hostileJsonBody, jsonText } from '../../areas/hostile-json.ts';
import type { WireRequest } from '../../../harness/wire/wire-request.ts';
import { percent } from '../../fuzz-case.ts';
import type { SeededRandom } from '../../../harness/seeded-random.ts';
import type { AccessUsers, Credential } from '../../../harness/client/access-users.ts';

export const usersPath = '/api/v1/users/users/';
export const profilePath = '/api/v1/users/profile/';
export const orgsPath = '/api/v1/orgs/orgs/';
export const systemBindings = '/api/v1/rbac/system-role-bindings/';
export const orgBindings = '/api/v1/rbac/org-role-bindings/';
export const keysPath = '/api/v1/authentication/access-keys/';
export const loginPath = '/api/v1/authentication/auth/';
export const sessionsPath = '/api/v1/authentication/sessions/';

/** These paths require authentication. */
export const protectedPaths = [
  usersPath,
  `${usersPath}x/`,
  profilePath,
  orgsPath,
  `${orgsPath}current/`,
  '/api/v1/rbac/roles/',
  systemBindings,
  orgBindings,
  keysPath,
  sessionsPath,
  '/api/v1/audits/login-logs/?limit=3',
  '/api/v1/audits/my-login-logs/?limit=3',
  '/metrics',
  '/debug/flags/log-level',
];

/** With this credential only. */
export function asCaller(request: WireRequest, { headers }: Credential): WireRequest {
  return { ...request, isAnonymous: true, headers: [...headers, ...request.headers] };
}

/** Usually a user with the permission. */
export function anyCaller(random: SeededRandom, { credentials }: AccessUsers): Credential {
  return random.chance(0.6) ? credentials[0]! : random.pick(credentials);
}

/** Characters that are valid in a header. */
export function headerText(random: SeededRandom): string {
  return Buffer.from(hostileText(random))
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '');
}

const ids = [
  '00000000-0000-0000-0000-000000000000',
  '00000000-0000-0000-0000-000000000002',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '00000000-0000-0000-0000-0000000000020',
  '{id}',
  'ROOT',
  'root',
  'current',
  'password',
  '0',
  '00000000-0000-0000-0000-00000000000G',
];

/** An id in a path, never of a record that must stay. */
export function idText(random: SeededRandom): string {
  return random.one(
    () => random.pick(ids),
    () => percent(hostileText(random)),
    () => mutateText(random, random.pick(ids)).replaceAll(/[^\x21-\x7e]|[?#]/g, ''),
    () => `f${random.below(500)}`,
  );
}

const forms = [
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; charset=utf-8',
  'Application/X-WWW-Form-Urlencoded;charset=utf-16',
];
const otherTypes = [
  '',
  'text/plain',
  'application/json; charset=utf-16',
  'application/json;',
  'application/xml',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary="',
  `multipart/form-data; boundary=${'b'.repeat(300)}`,
  'application/merge-patch+json',
  'json',
  ';',
  'a/b; c="',
  '*/*',
];
const formTexts = [
  '',
  '&',
  '&&==&',
  'a',
  '%',
  '%zz=%',
  '%ff=%fe',
  '__proto__=x',
  'constructor=x&constructor=y',
  'a=%00',
  'a=%ED%A0%80',
  '\ufeffa=b',
  '+=+',
];

/** The fields as a body of some type; of two invalid kinds, one does not have the type it declares. */
export function bodyOf(random: SeededRandom, fields: Record<string, unknown>): Pick<WireRequest, 'body' | 'headers'> {
  const text = JSON.stringify(fields);
  return random.one(
    () => typed('application/json', text),
    () => typed('application/json', text),
    () => typed('application/json', text),
    () =>
      typed(
        'application/json',
        hostileJsonBody(random, (value) => aroundOne(random, fields, value)),
      ),
    () => typed('application/json', aroundOne(random, fields, jsonText(random))),
    () =>
      typed(
        random.pick(forms),
        random.chance(0.6) ? formOf(fields) : random.pick(formTexts) + formOf(fields) + random.pick(formTexts),
      ),
    () => multipart(random, fields),
    () =>
      typed(
        random.chance(0.8) ? random.pick(otherTypes) : headerText(random),
        random.chance(0.5) ? text : formOf(fields),
      ),
  );
}

function typed(type: string, body: string | Buffer): Pick<WireRequest, 'body' | 'headers'> {
  return { headers: [['Content-Type', type]], body: Buffer.isBuffer(body) ? body : Buffer.from(body) };
}

/** Replaces one field's value with a literal text. */
function aroundOne(random: SeededRandom, fields: Record<string, unknown>, value: string): string {
  const names = [...Object.keys(fields), '__proto__', 'constructor', ''];
  const changed = random.pick(names);
  const rest = Object.entries(fields).flatMap(([name, each]) =>
    name === changed || each === undefined ? [] : [`${JSON.stringify(name)}:${JSON.stringify(each)}`],
  );
  return `{${[...rest, `${JSON.stringify(changed)}:${value}`].join(',')}}`;
}

function formOf(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${percent(name)}=${percent(formText(value))}`]))
    .join('&');
}

function formText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function multipart(random: SeededRandom, fields: Record<string, unknown>): Pick<WireRequest, 'body' | 'headers'> {
  const boundary = random.pick(['x', 'a'.repeat(70), "a'()+_,-./:=?"]);
  const part = ([name, value]: [string, unknown]): string => {
    const disposition = random.pick([
      `form-data; name="${name}"`,
      `form-data; name="${name}"`,
      `form-data; name="${name}"; filename="f"`,
      'form-data',
      `form-data; name=${name}`,
      `form-data; name="${name}`,
      '',
    ]);
    return `--${boundary}\r\nContent-Disposition: ${disposition}\r\n${random.pick(['', '', '', 'Content-Type: text/plain\r\n', 'X\r\n', 'a:\r\n'.repeat(random.pick([7, 8, 13_000]))])}\r\n${formText(value)}\r\n`;
  };
  const parts = random.chance(0.03) ? part(['a', 'b']).repeat(1500) : Object.entries(fields).map(part).join('');
  const body = `${parts}${random.pick(['--x--\r\n', `--${boundary}--\r\n`, `--${boundary}--\r\n`, `--${boundary}`, ''])}`;
  return typed(`multipart/form-data; boundary=${random.chance(0.5) ? `"${boundary}"` : boundary}`, body);
}
