import type { OutgoingHttpHeaders } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStatusError } from '#pkg/apimachinery/index';
import type { Attributes, UserInfo } from '#pkg/identity/index';
import { sendJson } from '../answer/respond.ts';
import { startTestServer, type TestHttpServer } from '../server/start-test-server.ts';
import { readImpersonation, withImpersonation } from './with-impersonation.ts';
import { withAuthentication } from './with-authentication.ts';
import { withLogging } from './with-logging.ts';
import { withRequestId } from './with-request-id.ts';
import { withStatus } from './with-status.ts';

const narrowed: UserInfo = {
  name: 'ann',
  uid: '1',
  groups: ['staff', 'system:authenticated'],
  restriction: { roles: ['view'] },
};
const authenticated = 'system:authenticated';
/** The authenticated user. */
let real: UserInfo;
let asked: Attributes[];
let server: TestHttpServer;
const denied = new Set<string>();

beforeEach(async () => {
  real = narrowed;
  asked = [];
  denied.clear();
  const authorizer = {
    authorize: async (attributes: Attributes) => {
      asked.push(attributes);
      return { allowed: !denied.has(attributes.name), reason: 'no rule' };
    },
  };
  const authentication = withAuthentication({ authenticateRequest: async () => real });
  server = await startTestServer((context) => sendJson(context, 200, JSON.stringify(context.user)), {
    filters: (log) => [
      withRequestId(),
      withLogging(log, { slowMs: Infinity }),
      withStatus(),
      authentication,
      withImpersonation(authorizer),
    ],
  });
});
afterEach(() => server.server.close({ drainTimeoutMs: 0 }));

async function send(headers: OutgoingHttpHeaders): Promise<{ status: number; body: Record<string, unknown> }> {
  const { status, body } = await server.send({ path: '/apis/g.io/v1/posts', headers });
  return { status, body: JSON.parse(body.toString()) as Record<string, unknown> };
}

const questions = (): string[] =>
  asked.map(
    ({ user, verb, group, resource, subresource, name }) =>
      `${user.name} ${verb} ${group}/${resource}${subresource === '' ? '' : `/${subresource}`} ${name}`,
  );

const allowed: { reason: string; headers: OutgoingHttpHeaders; user: object; asks: string[] }[] = [
  {
    reason: 'a user is authenticated',
    headers: { 'Impersonate-User': 'bob' },
    user: { name: 'bob', uid: '', groups: [authenticated] },
    asks: ['ann impersonate /users bob'],
  },
  {
    reason: 'groups keep their order, and each is authorized',
    headers: { 'Impersonate-User': 'bob', 'impersonate-group': ['b', 'a'] },
    user: { name: 'bob', uid: '', groups: ['b', 'a', authenticated] },
    asks: ['ann impersonate /users bob', 'ann impersonate /groups b', 'ann impersonate /groups a'],
  },
  {
    reason: 'system:authenticated is not added twice',
    headers: { 'Impersonate-User': 'bob', 'Impersonate-Group': authenticated },
    user: { name: 'bob', uid: '', groups: [authenticated] },
    asks: ['ann impersonate /users bob', `ann impersonate /groups ${authenticated}`],
  },
  {
    reason: 'system:unauthenticated is kept',
    headers: { 'Impersonate-User': 'bob', 'Impersonate-Group': 'system:unauthenticated' },
    user: { name: 'bob', uid: '', groups: ['system:unauthenticated'] },
    asks: ['ann impersonate /users bob', 'ann impersonate /groups system:unauthenticated'],
  },
  {
    reason: 'the anonymous user is unauthenticated',
    headers: { 'Impersonate-User': 'system:anonymous' },
    user: { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] },
    asks: ['ann impersonate /users system:anonymous'],
  },
  {
    reason: 'uid and extras, whose keys are in lower case and escaped',
    headers: {
      'Impersonate-User': 'bob',
      'IMPERSONATE-UID': 'u-1',
      'Impersonate-Extra-Example.com%2FTeam': ['x', 'y'],
      'Impersonate-Extra-a%zz': 'z',
    },
    user: {
      name: 'bob',
      uid: 'u-1',
      groups: [authenticated],
      extra: { 'example.com/team': ['x', 'y'], 'a%zz': ['z'] },
    },
    asks: [
      'ann impersonate /users bob',
      'ann impersonate authentication.k8s.io/userextras/example.com/team x',
      'ann impersonate authentication.k8s.io/userextras/example.com/team y',
      'ann impersonate authentication.k8s.io/userextras/a%zz z',
      'ann impersonate authentication.k8s.io/uids u-1',
    ],
  },
  {
    reason: 'a service account is a user',
    headers: { 'Impersonate-User': 'system:serviceaccount:default:x' },
    user: { name: 'system:serviceaccount:default:x', uid: '', groups: [authenticated] },
    asks: ['ann impersonate /users system:serviceaccount:default:x'],
  },
  {
    reason: 'a name beyond ASCII',
    headers: { 'Impersonate-User': Buffer.from('björn').toString('latin1') },
    user: { name: 'björn', uid: '', groups: [authenticated] },
    asks: ['ann impersonate /users björn'],
  },
  {
    reason: 'a key of the prototype is a key',
    headers: { 'Impersonate-User': 'bob', 'Impersonate-Extra-__proto__': 'x' },
    user: JSON.parse(`{"name":"bob","uid":"","groups":["${authenticated}"],"extra":{"__proto__":["x"]}}`) as object,
    asks: ['ann impersonate /users bob', 'ann impersonate authentication.k8s.io/userextras/__proto__ x'],
  },
  { reason: 'no user is named', headers: { 'X-Impersonate-User': 'bob' }, user: narrowed, asks: [] },
];

test.each(allowed)('$reason', async ({ headers, user, asks }) => {
  // The restriction of the credential still applies.
  expect(await send(headers)).toEqual({ status: 200, body: { ...user, restriction: { roles: ['view'] } } });
  expect(questions()).toEqual(asks);
  // Authorization sees the restriction of the credential.
  expect(asked.every((attributes) => attributes.user === real)).toBe(true);
});

test.each<[string, string[] | undefined, string[], string[]]>([
  ['of the impersonated user', undefined, ['view', 'edit'], ['view', 'edit']],
  ['of both users: the common roles', ['view', 'admin'], ['view', 'edit'], ['view']],
  ['of both users, without common roles', ['admin'], ['view'], []],
])('restriction %s', async (_reason, own, told, left) => {
  const { restriction: _restriction, ...whole } = narrowed;
  real = own === undefined ? whole : { ...whole, restriction: { roles: own } };
  const { status, body } = await send({
    'Impersonate-User': 'bob',
    'Impersonate-Extra-Authentication.svc.run%2FRestricted-To-Roles': told,
  });
  expect([status, body['restriction']]).toEqual([200, { roles: left }]);
});

test.each([
  ['a group without a user', { 'Impersonate-Group': 'staff' }, /naming a user/],
  ['a uid without a user', { 'Impersonate-Uid': 'u' }, /naming a user/],
  ['extras without a user', { 'Impersonate-Extra-a': 'b' }, /naming a user/],
  ['two users', { 'Impersonate-User': ['bob', 'system:admin'] }, /must be given once/],
  ['two uids', { 'Impersonate-User': 'bob', 'Impersonate-Uid': ['1', '2'] }, /must be given once/],
  ['an empty user', { 'Impersonate-User': '' }, /is empty/],
  ['an empty group', { 'Impersonate-User': 'bob', 'Impersonate-Group': '' }, /is empty/],
  ['a key with invalid characters', { 'Impersonate-User': 'bob', 'Impersonate-Extra-': 'x' }, /is not known/],
  ['another name', { 'Impersonate-User': 'bob', 'Impersonate-Users': 'x' }, /is not known/],
  ['bytes that are not UTF-8', { 'Impersonate-User': '\xff' }, /not UTF-8/],
])('%s is 400, and the authorizer is not asked', async (_reason, headers, message) => {
  expect(await send(headers)).toMatchObject({
    status: 400,
    body: { kind: 'Status', reason: 'BadRequest', message: expect.stringMatching(message) },
  });
  expect(asked).toEqual([]);
});

describe('403 with the message of Kubernetes', () => {
  const all = {
    'Impersonate-User': 'bob',
    'Impersonate-Group': 'staff',
    'Impersonate-Uid': 'u-1',
    'Impersonate-Extra-team': 'x',
  };
  test.each([
    [
      'bob',
      'users "bob" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope: no rule',
    ],
    [
      'staff',
      'groups "staff" is forbidden: User "ann" cannot impersonate resource "groups" in API group "" at the cluster scope: no rule',
    ],
    [
      'u-1',
      'uids.authentication.k8s.io "u-1" is forbidden: User "ann" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope: no rule',
    ],
    [
      'x',
      'userextras.authentication.k8s.io "x" is forbidden: User "ann" cannot impersonate resource "userextras/team" in API group "authentication.k8s.io" at the cluster scope: no rule',
    ],
  ])('for %s', async (name, message) => {
    denied.add(name);
    expect(await send(all)).toMatchObject({ status: 403, body: { reason: 'Forbidden', message } });
  });
});

test('the log line names both users', async () => {
  await send({ 'Impersonate-User': 'bob' });
  await send({});
  denied.add('eve');
  await send({ 'Impersonate-User': 'eve' });
  const lines = server.logs.filter(({ msg }) => msg === 'request');
  expect(lines.map(({ user, as, status }) => [user, as, status])).toEqual([
    ['ann', 'bob', 200],
    ['ann', undefined, 200],
    ['ann', undefined, 403],
  ]);
});

test('headers of any content are parsed or refused with 400', () => {
  const name = fc.oneof(
    fc.constantFrom(
      'Impersonate-User',
      'impersonate-group',
      'Impersonate-Uid',
      'Impersonate-Extra-a%2fB',
      'Impersonate-',
      'Accept',
    ),
    fc.string().map((text) => `Impersonate-Extra-${text}`),
  );
  const headers = fc.array(
    fc.tuple(
      name,
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text).toString('latin1')),
    ),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(headers, (list) => {
      try {
        const read = readImpersonation(list.flat());
        expect(read === undefined).toBe(!list.some(([header]) => header.toLowerCase().startsWith('impersonate-')));
      } catch (error) {
        expect(isStatusError(error, 'BadRequest')).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});
