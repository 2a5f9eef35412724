import { hostileText } from '../../areas/hostile-text.ts';
import type { WireRequest } from '../../../harness/wire/wire-request.ts';
import { query, wellFormed, type AttackArea, type FuzzCase } from '../../fuzz-case.ts';
import type { SeededRandom } from '../../../harness/seeded-random.ts';
import { headerOf } from '../../../harness/wire/answer.ts';
import type { AccessUsers } from '../../../harness/client/access-users.ts';
import { asCaller, bodyOf, headerText, idText } from './requests.ts';

const pages = [
  '/',
  '/login/',
  '/login',
  '/settings/',
  '/settings',
  '/settings/profile/',
  '/settings/password/',
  '/settings/access-keys/',
  '/settings/sessions/',
  '/settings/personal-tokens/',
  '/settings/tokens/',
  '/assets/style.css',
  '/assets/pages.js',
  '/assets/nope',
  '/api/docs/',
  '/api/docs',
  '/api/docs/swagger-ui.css',
  '/api/openapi.json',
  '/favicon.ico',
];
const nexts = [
  '/settings/',
  '//evil.example',
  '/\\evil.example',
  'http://evil.example',
  '/%0d%0aX:y',
  '/settings/..//evil.example',
  '/\t/evil.example',
  '?',
  '#',
  'javascript:alert(1)',
];

function next(random: SeededRandom): string {
  return random.one(
    () => random.pick(nexts),
    () => wellFormed(hostileText(random)),
  );
}

function formFields(random: SeededRandom, csrfToken: string): Record<string, unknown> {
  const text = (): string => wellFormed(hostileText(random));
  return {
    csrfmiddlewaretoken: csrfToken,
    name: text(),
    email: text(),
    comment: text(),
    displayName: text(),
    display_name: text(),
    ip_group: text(),
    expiresAt: text(),
    expires: random.pick(['', '30', text()]),
    roles: text(),
    action: random.pick(['delete', 'revoke', 'restore', 'enable', 'disable', text()]),
    next: next(random),
    old_password: 'wrong',
    new_password: text(),
    new_password_again: text(),
  };
}

/** Pages and their forms: no input is returned as markup, and no redirect leaves the site. */
export const pageForms: AttackArea<AccessUsers> = {
  name: 'access pages',
  weight: 6,
  generate(random, fixtures) {
    const { session } = fixtures;
    const pager = fixtures.credentials[2]!;
    const asSession = { ...pager, headers: [pager.headers[0]!] };
    const token = random.pick(['x'.repeat(43), '', wellFormed(hostileText(random))]);
    const cookie: [string, string] = [
      'Cookie',
      `svc_loginform=${random.pick([token, 'x'.repeat(43)]).replaceAll(/[^\x21-\x7e]/g, '')}`,
    ];
    const login = {
      username: random.pick(['nobody', `u${random.below(1_000_000)}`, '']),
      password: random.pick(['', 'x']),
      next: next(random),
      csrfmiddlewaretoken: token,
    };
    const accept: WireRequest['headers'] = [
      ['Accept', random.pick(['text/html', 'text/html,*/*;q=0.1', 'application/json', headerText(random)])],
    ];
    const markup = '<script>alert(1)</script>"\'&';
    const settings = random.pick(pages.filter((page) => page.startsWith('/settings')));
    return random.one<Omit<FuzzCase, 'area'>>(
      () => ({
        changes: 'never',
        requests: [
          {
            method: random.pick(['GET', 'GET', 'HEAD', 'OPTIONS', 'PUT']),
            target: `${random.pick(pages)}${query([
              ['next', next(random)],
              ['done', wellFormed(hostileText(random))],
            ])}`,
            headers: accept,
            isAnonymous: true,
          },
        ],
      }),
      () => ({
        changes: 'never',
        requests: [asCaller({ method: 'GET', target: random.pick(pages), headers: accept }, asSession)],
      }),
      () => ({
        changes: 'never',
        requests: [
          {
            method: 'POST',
            target: '/login/',
            isAnonymous: true,
            ...withHeaders(bodyOf(random, login), [cookie, ...accept]),
          },
        ],
      }),
      () => ({
        changes: 'maybe',
        requests: [
          asCaller(
            {
              method: 'POST',
              target: random.chance(0.6) ? settings : `${settings.replace(/\/?$/, '/')}${idText(random)}/`,
              ...withHeaders(bodyOf(random, formFields(random, session.csrfToken)), accept),
            },
            asSession,
          ),
        ],
      }),
      () => ({
        changes: 'never',
        requests: [
          asCaller(
            {
              method: 'POST',
              target: random.pick(['/logout/', settings]),
              ...withHeaders(bodyOf(random, formFields(random, token)), accept),
            },
            asSession,
          ),
        ],
      }),
      () => ({
        changes: 'never',
        requests: [
          {
            method: 'POST',
            target: '/login/',
            isAnonymous: true,
            headers: [
              ['Content-Type', 'application/x-www-form-urlencoded'],
              ['Cookie', `svc_loginform=${'x'.repeat(43)}`],
            ],
            body: Buffer.from(
              query([
                ['csrfmiddlewaretoken', 'x'.repeat(43)],
                ['username', markup],
                ['password', ''],
                ['next', markup],
              ]).slice(1),
            ),
          },
        ],
        judge: ([answer]) =>
          answer === undefined || answer.status === 429
            ? undefined
            : answer.body.includes('<script>alert') || headerOf(answer, 'content-security-policy') === undefined
              ? 'what was sent came back as markup, or without a policy'
              : undefined,
      }),
    );
  },
};

function withHeaders(
  body: Pick<WireRequest, 'body' | 'headers'>,
  headers: WireRequest['headers'],
): Pick<WireRequest, 'body' | 'headers'> {
  return { ...body, headers: [...headers, ...body.headers] };
}
