import { describe, expect, test } from '@jest/globals';
import { judgeAccess, permit, type AccessOperation } from './access-model.ts';
import { builtInBindings, builtInRoles } from './built-in-roles.ts';
import type { Credential } from './credential.ts';
import { choose, type OrgChoice } from './org-choice.ts';
import { defaultOrgId, namespaceOf, rootOrgId, type Person } from './person.ts';
import { judgePlatform } from './platform-model.ts';
import { faultOf, refuse } from './verdict.ts';

const a = 'aaaaaaaa-0000-4000-8000-000000000000';
const b = 'bbbbbbbb-0000-4000-8000-000000000000';
const orgs = new Map([
  [a, a],
  [b, b],
  ['press', a],
  ['root', rootOrgId],
  [rootOrgId, rootOrgId],
  ['default', defaultOrgId],
  [defaultOrgId, defaultOrgId],
]);
const member: Person = {
  username: 'mia',
  systemRoles: ['SystemUser'],
  orgRoles: { [a]: ['OrgAdmin'] },
  groups: [],
  isAlive: true,
};
const root: Person = { username: 'root', systemRoles: ['SystemAdmin'], orgRoles: {}, groups: [], isAlive: true };

describe('the organization of a request', () => {
  const choices: { reason: string; choice: Omit<OrgChoice, 'name'>; person?: Person; is: string | number }[] = [
    { reason: 'the only one', choice: {}, is: a },
    { reason: 'DEFAULT, for a user without any', choice: {}, person: root, is: defaultOrgId },
    {
      reason: 'DEFAULT, for a user with two, and no role there',
      choice: {},
      person: { ...member, orgRoles: { [a]: ['OrgUser'], [b]: ['OrgUser'] } },
      is: 403,
    },
    { reason: 'a name, in any case', choice: { header: 'Press' }, is: a },
    { reason: 'oid before the header before the cookie', choice: { oid: a, header: 'nowhere', cookie: b }, is: a },
    { reason: 'the header before the cookie', choice: { header: b, cookie: a }, is: 403 },
    { reason: 'one that does not exist', choice: { header: 'nowhere' }, is: 404 },
    { reason: 'one without a role', choice: { header: b }, is: 403 },
    { reason: 'any, for an administrator', choice: { header: b }, person: root, is: b },
    { reason: 'ROOT', choice: { header: 'ROOT' }, is: 403 },
    { reason: 'ROOT, for an administrator', choice: { header: 'ROOT' }, person: root, is: rootOrgId },
    { reason: 'two', choice: { header: `${a}, ${a}` }, is: 400 },
    { reason: 'the same one twice', choice: { header: [a, a] }, is: 400 },
  ];
  test.each(choices)('$reason', ({ choice, person = member, is }) => {
    const chosen = choose({ name: '', ...choice }, person, orgs);
    expect(typeof chosen === 'string' ? chosen : chosen.status[0]).toBe(is);
  });
});

describe('the user at the access service', () => {
  const operation: AccessOperation = {
    method: 'POST',
    path: '/',
    isInOrganization: false,
    judge: () => permit(true, [200], ''),
  };
  const session = { csrf: 'header', origin: 'same' } as const;
  const answers: {
    reason: string;
    credential: Omit<Credential, 'name'>;
    person?: Person;
    path?: string;
    isOpen?: true;
    is: [number, string?];
  }[] = [
    { reason: 'a token', credential: { header: { kind: 'bearer' } }, is: [200] },
    {
      reason: 'a token of a disabled user',
      credential: { header: { kind: 'bearer' } },
      person: { ...member, isAlive: false },
      is: [401, 'authentication_failed'],
    },
    { reason: 'nobody', credential: {}, is: [401, 'not_authenticated'] },
    { reason: 'no credential, at an open path', credential: {}, isOpen: true, is: [200] },
    { reason: 'Basic', credential: { header: { kind: 'basic' } }, is: [401, 'not_authenticated'] },
    {
      reason: 'a wrong token, at an open path',
      credential: { header: { kind: 'private', fault: 'x' } },
      isOpen: true,
      is: [401, 'authentication_failed'],
    },
    { reason: 'a personal token', credential: { header: { kind: 'personal' } }, is: [401, 'authentication_failed'] },
    {
      reason: 'a personal token, for metrics',
      credential: { header: { kind: 'personal' } },
      path: '/metrics',
      is: [200],
    },
    { reason: 'a session', credential: { session }, is: [200] },
    {
      reason: 'a session without its token',
      credential: { session: { ...session, csrf: 'none' } },
      is: [403, 'csrf_failed'],
    },
    {
      reason: 'a session that ended, at an open path',
      credential: { session: { ...session, fault: 'x' } },
      isOpen: true,
      is: [200],
    },
    {
      reason: 'a wrong token beside a good session',
      credential: { header: { kind: 'bearer', fault: 'x' }, session },
      is: [401, 'authentication_failed'],
    },
    {
      reason: 'a token beside the session of another',
      credential: { header: { kind: 'bearer' }, session: { ...session, another: true } },
      is: [401, 'authentication_failed'],
    },
  ];
  test.each(answers)('$reason: $is', ({ credential, person = member, path = '/', isOpen, is: [status, code] }) => {
    const verdict = judgeAccess({
      operation: { ...operation, path, ...(isOpen === undefined ? {} : { isOpen }) },
      credential: { name: '', ...credential },
      person,
      another: root,
      choice: { name: '' },
      orgs,
    });
    expect([verdict.status, verdict.code]).toEqual([[status], code]);
  });
});

describe('the user at the content platform', () => {
  const book = {
    clusterRoles: builtInRoles([{ group: 'x.io', plural: 'things' }]),
    roles: [],
    bindings: builtInBindings([a, b]),
  };
  const status = (
    person: Person,
    credential: Omit<Credential, 'name'>,
    verb: string,
    namespace: string | undefined,
  ): number | undefined => {
    const asks = { verb, group: 'x.io', resource: 'things', ...(namespace === undefined ? {} : { namespace }) };
    const operation = { method: verb === 'get' ? 'GET' : 'POST', asks, status: [200] };
    return judgePlatform({ operation, credential: { name: '', ...credential }, person, isBasicOn: false, book })
      .status[0];
  };
  const personal = { header: { kind: 'personal' } } as const;
  test('members in the namespace of their organization, auditors by reading, administrators anywhere', () => {
    const inA = namespaceOf(a);
    expect([status(member, personal, 'get', inA), status(member, personal, 'create', inA)]).toEqual([200, 200]);
    expect([status(member, personal, 'get', namespaceOf(b)), status(member, personal, 'get', undefined)]).toEqual([
      403, 403,
    ]);
    const auditor: Person = { ...member, orgRoles: { [a]: ['OrgAuditor'] } };
    expect([status(auditor, personal, 'get', inA), status(auditor, personal, 'create', inA)]).toEqual([200, 403]);
    expect(status(root, personal, 'create', undefined)).toBe(200);
    expect(status(root, { ...personal, restriction: 'view' }, 'create', undefined)).toBe(403);
  });
  test('by personal tokens and sessions, not by what the access service takes', () => {
    expect(status(root, { header: { kind: 'bearer' } }, 'get', undefined)).toBe(401);
    expect(status(root, { header: { kind: 'basic' } }, 'get', undefined)).toBe(401);
    expect(status(root, { session: { csrf: 'none', origin: 'none' } }, 'get', undefined)).toBe(200);
    expect(status(root, { session: { csrf: 'header', origin: 'foreign' } }, 'create', undefined)).toBe(403);
    expect(status(root, { session: { csrf: 'header', origin: 'same' } }, 'create', undefined)).toBe(200);
  });
});

test.each([
  [permit(true, [200], ''), 403, undefined, 'wrong deny'],
  [permit(true, [200], ''), 404, undefined, 'wrong status'],
  [refuse(403, ''), 200, undefined, 'wrong allow'],
  [refuse(401, ''), 400, undefined, 'wrong allow'],
  [refuse(403, ''), 404, undefined, 'wrong status'],
  [refuse(403, '', 'csrf_failed'), 403, 'permission_denied', 'wrong code'],
  [refuse(403, '', 'csrf_failed'), 403, 'csrf_failed', undefined],
  [permit(true, [200], ''), 503, undefined, 'wrong status'],
])('%j answered %s %s is %s', (verdict, status, code, fault) => {
  expect(faultOf(verdict, { status, code })).toBe(fault);
});
