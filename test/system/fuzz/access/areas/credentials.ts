import { mutateText } from '../../areas/hostile-text.ts';
import type { WireRequest } from '../../../harness/wire/wire-request.ts';
import type { AttackArea, FuzzCase } from '../../fuzz-case.ts';
import type { SeededRandom } from '../../../harness/seeded-random.ts';
import type { Answer } from '../../../harness/wire/answer.ts';
import type { AccessUsers } from '../../../harness/client/access-users.ts';
import { asCaller, headerText, loginPath, protectedPaths } from './requests.ts';

type Code = 'authentication_failed' | 'not_authenticated';
interface Wrong {
  headers: WireRequest['headers'];
  /** The code of the 401; undefined if it depends on the random text. */
  code: Code | undefined;
}

const ofUs = ['Bearer', 'bearer', 'BEARER', 'Token', 'tOKEN', 'Signature'];
const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const notOfUs = [
  'Basic YWRtaW46YWRtaW4=',
  'Basic',
  'Digest username="x"',
  'Negotiate x',
  'Bearerx y',
  'Token:x',
  '"Bearer" x',
  ',',
  '=',
  'Bear er',
  'JWT a.b.c',
  `${'B'.repeat(9000)} x`,
  '\xe9 x',
  '__proto__ x',
  'constructor',
];

function random36(random: SeededRandom): string {
  return Array.from({ length: 36 }, () => letters[random.below(62)]).join('');
}

function hex40(random: SeededRandom): string {
  return random.bytes(20).toString('hex');
}

function value(random: SeededRandom): string {
  return random.one(
    () => random36(random),
    () => hex40(random),
    () => '',
    () => `${random36(random)} ${random36(random)}`,
    () => 'a'.repeat(random.pick([35, 37, 512, 513, 9000])),
    () => `pat_${random36(random)}`,
    () => headerText(random),
  );
}

/** A credential that is never accepted. */
function wrong(random: SeededRandom, { credentials }: AccessUsers): Wrong {
  const scheme = random.pick(ofUs);
  const mutated = (): string => {
    const [name, text] = credentials[random.below(2)]!.headers[0]!;
    const [word, ...rest] = text.split(' ');
    const changed = mutateText(random, rest.join(' ')).replaceAll(/[^\x21-\x7e]/g, '');
    return name === 'Authorization' && changed !== rest.join(' ') ? `${word} ${changed}` : 'Bearer x';
  };
  return random.one<Wrong>(
    () => ({ headers: [['Authorization', `${scheme} ${value(random)}`]], code: 'authentication_failed' }),
    () => ({ headers: [['Authorization', mutated()]], code: 'authentication_failed' }),
    () => ({ headers: [['Authorization', scheme]], code: 'authentication_failed' }),
    () => ({ headers: [['Authorization', random.pick(notOfUs)]], code: 'not_authenticated' }),
    () => ({ headers: [['Authorization', headerText(random)]], code: undefined }),
    // Two valid credentials are still too many.
    () => ({
      headers: [credentials[0]!.headers[0]!, credentials[random.below(2)]!.headers[0]!],
      code: 'authentication_failed',
    }),
    () => ({
      headers: [['Authorization', random.pick(notOfUs)], credentials[0]!.headers[0]!],
      code: 'authentication_failed',
    }),
    () => ({ headers: [['Signature-Input', headerText(random)]], code: 'authentication_failed' }),
    // With the session of another user.
    () => ({ headers: [credentials[0]!.headers[0]!, credentials[2]!.headers[0]!], code: 'authentication_failed' }),
  );
}

/** A cookie that is not a session's is ignored. */
function wrongCookie(random: SeededRandom): string {
  return random.one(
    () =>
      `svc_sessionid=${random.one(
        () => random36(random),
        () => value(random),
      )}`,
    () => `${headerText(random)}=${headerText(random)}; svc_sessionid=${random36(random)}`,
    () => 'a=b; '.repeat(random.pick([10, 99, 101, 1000])),
    () => headerText(random),
    () => `X-SVC-ORG=${headerText(random)}`,
  );
}

function judged(request: WireRequest, code: Code | undefined): Omit<FuzzCase, 'area'> {
  const judge = ([answer]: readonly (Answer | undefined)[]): string | undefined => {
    if (answer === undefined || answer.status === 431) return undefined;
    if (answer.status !== 401) return `no right credential, and ${answer.status}`;
    const body = answer.body.toString();
    return code === undefined || request.method === 'HEAD' || body.includes(`"code":"${code}"`)
      ? undefined
      : `${code} was expected: ${body}`;
  };
  return { changes: 'never', requests: [request], judge };
}

/** Credentials that are wrong, malformed, duplicate, or another user's. */
export const credentials: AttackArea<AccessUsers> = {
  name: 'access credentials',
  weight: 10,
  generate(random, fixtures) {
    const method = random.pick(['GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
    const body = method === 'GET' || method === 'HEAD' ? {} : { body: Buffer.from('{}') };
    const target = random.pick(protectedPaths);
    const request: WireRequest = { method, target, headers: [], isAnonymous: true, ...body };
    const { headers, code } = wrong(random, fixtures);
    return random.one<Omit<FuzzCase, 'area'>>(
      () => judged({ ...request, headers }, code),
      () => judged({ ...request, headers }, code),
      // A wrong credential is a 401 even for a public path.
      () =>
        judged(
          {
            method: 'POST',
            target: loginPath,
            headers: [...headers, ['Content-Type', 'application/json']],
            isAnonymous: true,
            body: Buffer.from('{}'),
          },
          code,
        ),
      () =>
        judged(
          {
            method: 'GET',
            target: protectedPaths[0]!,
            headers: random.chance(0.2) ? [] : [['Cookie', wrongCookie(random)]],
            isAnonymous: true,
          },
          'not_authenticated',
        ),
      () => withoutCsrfToken(random, fixtures),
    );
  },
};

/** A change with a session but without its CSRF token. */
function withoutCsrfToken(random: SeededRandom, { session, credentials: all }: AccessUsers): Omit<FuzzCase, 'area'> {
  const token = random.one(
    () => '',
    () => headerText(random),
    () => mutateText(random, session.csrfToken).replaceAll(/[^\x21-\x7e]/g, ''),
  );
  const isForm = random.chance(0.5);
  const sent = token === session.csrfToken ? '' : token;
  const body = isForm
    ? `csrfmiddlewaretoken=${encodeURIComponent(sent)}&name=x`
    : JSON.stringify({ csrfmiddlewaretoken: session.csrfToken, name: 'x' });
  const headers: WireRequest['headers'] = [
    ['Content-Type', isForm ? 'application/x-www-form-urlencoded' : 'application/json'],
    ...(isForm ? [] : [['X-CSRFToken', sent] as [string, string]]),
  ];
  const method = random.pick(['POST', 'PUT', 'PATCH', 'DELETE']);
  const target = random.pick([
    '/api/v1/users/profile/',
    '/api/v1/orgs/orgs/',
    '/api/v1/users/users/',
    '/api/v1/authentication/access-keys/',
  ]);
  const request = asCaller(
    { method, target, headers, body: Buffer.from(body) },
    { rank: 'administrator', headers: [all[2]!.headers[0]!] },
  );
  return {
    changes: 'never',
    requests: [request],
    judge: ([answer]) =>
      answer === undefined || [403, 405].includes(answer.status)
        ? undefined
        : `without the CSRF token: ${answer.status}`,
  };
}
