import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { startTestRbac, testUser, type TestRbac } from '../start-test-rbac.ts';

const authorization = '/apis/authorization.k8s.io/v1';
const authentication = '/apis/authentication.k8s.io/v1';
const listEvents = { namespace: 'default', verb: 'list', resource: 'events' };

let server: TestRbac;

beforeAll(async () => {
  server = await startTestRbac();
  server.users.set('ada', testUser('ada'));
  server.users.set('eve', testUser('eve', 'svc:system-auditors'));
  server.users.set('narrow', { ...testUser('root', 'system:masters'), restriction: { roles: ['view'] } });
});

afterAll(() => server.stop());

const review = (kind: string, spec: JsonObject = {}): JsonObject => ({
  apiVersion:
    kind.endsWith('SubjectReview') || kind === 'TokenReview' ? 'authentication.k8s.io/v1' : 'authorization.k8s.io/v1',
  kind,
  spec,
});

describe('access reviews', () => {
  test.each([
    ['what I may not do', 'ada', { resourceAttributes: listEvents }, { allowed: false }],
    ['what I may do', 'eve', { resourceAttributes: listEvents }, { allowed: true }],
    [
      'what my restricted credential allows',
      'narrow',
      { resourceAttributes: { ...listEvents, verb: 'delete' } },
      { allowed: false, reason: 'the credential is narrowed to roles that do not allow it' },
    ],
    ['a path', 'ada', { nonResourceAttributes: { path: '/apis', verb: 'get' } }, { allowed: true }],
    ['everything', 'root', { resourceAttributes: { verb: '*', group: '*', resource: '*' } }, { allowed: true }],
  ])('%s', async (_reason, user, spec, status) => {
    const answer = await server.call(
      user,
      'POST',
      `${authorization}/selfsubjectaccessreviews`,
      review('SelfSubjectAccessReview', spec),
    );
    expect(answer).toMatchObject({ status: 201, body: { kind: 'SelfSubjectAccessReview', spec, status } });
  });

  test('kind and apiVersion may be left out, as typed clients do', async () => {
    const body = { spec: { resourceAttributes: listEvents } };
    const answer = await server.call('eve', 'POST', `${authorization}/selfsubjectaccessreviews`, body);
    expect(answer).toMatchObject({
      status: 201,
      body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', status: { allowed: true } },
    });
  });

  test.each([
    [
      'neither',
      {},
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [
      'both',
      { resourceAttributes: {}, nonResourceAttributes: {} },
      'spec.nonResourceAttributes: Invalid value: {}: cannot be specified in combination with resourceAttributes',
    ],
    [
      'numbers',
      { resourceAttributes: { verb: 1 } },
      'spec.resourceAttributes.verb: Invalid value: "integer": spec.resourceAttributes.verb in body must be of type string: "integer"',
    ],
  ])('%s: 422', async (_reason, spec, message) => {
    const answer = await server.call(
      'ada',
      'POST',
      `${authorization}/selfsubjectaccessreviews`,
      review('SelfSubjectAccessReview', spec),
    );
    expect([answer.status, answer.body.message]).toEqual([
      422,
      `SelfSubjectAccessReview.authorization.k8s.io "" is invalid: ${message}`,
    ]);
  });

  test('of other users need a separate permission', async () => {
    const spec = { user: 'ben', groups: ['svc:system-auditors'], resourceAttributes: listEvents };
    expect(
      (await server.call('ada', 'POST', `${authorization}/subjectaccessreviews`, review('SubjectAccessReview', spec)))
        .status,
    ).toBe(403);
    expect(
      (await server.call('root', 'POST', `${authorization}/subjectaccessreviews`, review('SubjectAccessReview', spec)))
        .body.status,
    ).toEqual({ allowed: true });
    expect(
      (
        await server.call(
          'root',
          'POST',
          `${authorization}/subjectaccessreviews`,
          review('SubjectAccessReview', { resourceAttributes: listEvents }),
        )
      ).status,
    ).toBe(422);
    const path = `${authorization}/namespaces/default/localsubjectaccessreviews`;
    expect((await server.call('root', 'POST', path, review('LocalSubjectAccessReview', spec))).body).toMatchObject({
      metadata: { namespace: 'default' },
      status: { allowed: true },
    });
    expect(
      (
        await server.call(
          'root',
          'POST',
          path,
          review('LocalSubjectAccessReview', { ...spec, resourceAttributes: { ...listEvents, namespace: 'other' } }),
        )
      ).status,
    ).toBe(422);
  });

  test('a SelfSubjectRulesReview lists all rules', async () => {
    const answer = await server.call(
      'narrow',
      'POST',
      `${authorization}/selfsubjectrulesreviews`,
      review('SelfSubjectRulesReview', { namespace: 'default' }),
    );
    expect(answer.body.status).toMatchObject({
      resourceRules: expect.arrayContaining([
        {
          verbs: ['get', 'list', 'watch'],
          apiGroups: [''],
          resources: [
            'configmaps',
            'events',
            'namespaces',
            'namespaces/status',
            'resourcequotas',
            'resourcequotas/status',
          ],
        },
      ]),
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: expect.arrayContaining(['/apis/*']) }],
      incomplete: false,
    });
    expect(JSON.stringify(answer.body.status)).not.toContain('"*"');
  });
});

describe('identity reviews', () => {
  test('a SelfSubjectReview describes the caller', async () => {
    const answer = await server.call(
      'eve',
      'POST',
      `${authentication}/selfsubjectreviews`,
      review('SelfSubjectReview'),
    );
    expect(answer).toMatchObject({
      status: 201,
      body: {
        status: {
          userInfo: { username: 'eve', uid: 'uid-eve', groups: ['svc:system-auditors', 'system:authenticated'] },
        },
      },
    });
  });

  test('a TokenReview describes the user and restriction of a token, and does not repeat the token', async () => {
    const ask = (user: string, token: string) =>
      server.call(user, 'POST', `${authentication}/tokenreviews`, review('TokenReview', { token }));
    expect((await ask('eve', 'eve')).status).toBe(403);
    expect((await ask('root', 'eve')).body).toEqual({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      metadata: {},
      spec: {},
      status: {
        authenticated: true,
        user: { username: 'eve', uid: 'uid-eve', groups: ['svc:system-auditors', 'system:authenticated'] },
      },
    });
    expect((await ask('root', 'nobody')).body.status).toEqual({ authenticated: false });
    expect((await ask('root', '')).status).toBe(400);
    const { username, groups, extra } = (await ask('root', 'narrow')).body.status.user as {
      username: string;
      groups: string[];
      extra: Record<string, string[]>;
    };
    const spec = { user: username, groups, extra, resourceAttributes: { ...listEvents, verb: 'delete' } };
    expect(
      (await server.call('root', 'POST', `${authorization}/subjectaccessreviews`, review('SubjectAccessReview', spec)))
        .body.status.allowed,
    ).toBe(false);
  });
});

test('accept the protobuf of kubectl', async () => {
  // As `kubectl auth can-i list events -n default` of 1.33 sends it.
  const field = (number: number, bytes: Buffer | string): Buffer =>
    Buffer.concat([Buffer.from([number * 8 + 2, Buffer.byteLength(bytes)]), Buffer.from(bytes)]);
  const attributes = Buffer.concat([
    field(1, 'default'),
    field(2, 'list'),
    field(3, ''),
    field(4, ''),
    field(5, 'events'),
    field(6, ''),
    field(7, ''),
  ]);
  const object = Buffer.concat([
    field(1, Buffer.concat([field(1, ''), field(2, '')])),
    field(2, field(1, attributes)),
    field(3, Buffer.from([8, 0])),
  ]);
  const typeMeta = Buffer.concat([field(1, 'authorization.k8s.io/v1'), field(2, 'SelfSubjectAccessReview')]);
  const body = Buffer.concat([Buffer.from('k8s\0'), field(1, typeMeta), field(2, object), field(3, ''), field(4, '')]);
  const headers = {
    'Content-Type': 'application/vnd.kubernetes.protobuf',
    Accept: 'application/vnd.kubernetes.protobuf,application/json',
  };
  const answer = await server.call('eve', 'POST', `${authorization}/selfsubjectaccessreviews`, body, headers);
  expect(answer).toMatchObject({
    status: 201,
    body: { spec: { resourceAttributes: listEvents }, status: { allowed: true } },
  });
});

test.each([
  ['GET', `${authorization}/selfsubjectaccessreviews`, 405],
  ['DELETE', `${authorization}/selfsubjectaccessreviews`, 405],
  ['POST', `${authorization}/namespaces/default/selfsubjectaccessreviews`, 404],
  ['POST', `${authorization}/localsubjectaccessreviews`, 404],
  ['POST', `${authorization}/selfsubjectaccessreviews/x/status`, 404],
  ['POST', `${authorization}/nothings`, 404],
])('%s %s is %i', async (method, path, status) => {
  const { status: answered, headers } = await server.call('root', method, path, method === 'POST' ? {} : undefined);
  expect([answered, headers.get('allow')]).toEqual([status, status === 405 ? 'POST' : null]);
});

test('are in discovery', async () => {
  const { resources } = (await server.call('ada', 'GET', authorization)).body as { resources: JsonObject[] };
  expect(resources).toContainEqual({
    name: 'selfsubjectaccessreviews',
    singularName: 'selfsubjectaccessreview',
    namespaced: false,
    kind: 'SelfSubjectAccessReview',
    verbs: ['create'],
    storageVersionHash: expect.any(String),
  });
  expect(resources).toHaveLength(4);
});
