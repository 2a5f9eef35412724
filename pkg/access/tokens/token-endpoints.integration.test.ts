import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { TrustedProxies } from '#pkg/http/index';
import { isPersonalToken, newPersonalToken, type UserInfo } from '#pkg/identity/index';
import { platformAuthenticator } from './platform-authenticator.ts';
import { startTestPlatform, type TestPlatform, type TestPlatformAnswer } from './start-test-platform.ts';
import type { PersonalToken } from './personal-token.ts';
import { PersonalTokenAuthenticator } from './personal-token-authenticator.ts';
import { PersonalTokens } from './personal-tokens.ts';
import { personalTokenEndpoints } from './token-endpoints.ts';
import { tokenOwnerOf } from './token-request.ts';
import { TokenStore } from './token-store.ts';

const path = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';
const proxies = new TrustedProxies([]);
let platform: TestPlatform;
let tokens: PersonalTokens;
let id: string;
let username: string;
let token: string;
let count = 0;
/** Names of ClusterRoles that `mia<n>` has. */
const held = new Set(['view', 'svc:personal-tokens', 'posts:manage']);

beforeAll(async () => {
  platform = await startTestPlatform({
    authenticator: ({ database }) =>
      platformAuthenticator({
        tokens: new PersonalTokenAuthenticator(new TokenStore(database), { noteUse: () => {}, noteFailure: () => {} }),
        proxies,
      }),
    groups: ({ access, audit }) => {
      const roles = {
        hasRole: (user: UserInfo, role: string) =>
          user.restriction === undefined && user.name.startsWith('mia') && held.has(role),
        rolesOf: () => [...held, 'system:discovery'],
      };
      tokens = new PersonalTokens({ database: access, audit, roles });
      return [personalTokenEndpoints({ tokens, proxies })];
    },
  });
});
beforeEach(async () => {
  count += 1;
  username = `mia${count}`;
  id = await platform.addUser({ username });
  token = await addToken({ userId: id });
});
afterAll(() => platform.stop());

async function addToken({
  userId,
  name = 'first',
  roles,
}: {
  userId: string;
  name?: string;
  roles?: string[];
}): Promise<string> {
  const made = newPersonalToken();
  await platform.database.pool.query(
    "INSERT INTO access.personal_tokens (name, username, user_id, hash, roles) VALUES ($1, '', $2, $3, $4)",
    [name, userId, TokenStore.hash(made), roles ?? null],
  );
  return made;
}
const send = (
  method: string,
  rest = '',
  options: { as?: string | undefined; body?: unknown; headers?: Record<string, string> } = {},
): Promise<TestPlatformAnswer> =>
  platform.send(method, path + rest, {
    authorization: `Bearer ${options.as ?? token}`,
    body: options.body,
    headers: options.headers ?? {},
  });
const create = async (
  spec: object = {},
  metadata: object = {},
  as = token,
): Promise<PersonalToken & { code?: number; message?: string }> =>
  (await send('POST', '', { as, body: { metadata, spec } })).json as never;
const who = (as: string): Promise<TestPlatformAnswer> =>
  platform.send('GET', '/whoami', { authorization: `Bearer ${as}` });
const audit = async (): Promise<string[]> =>
  (
    await platform.database.pool.query<{ line: string }>(
      "SELECT action || ' ' || resource || ' ' || detail AS line FROM access.operate_logs WHERE user_id = $1 AND resource_type = 'personal_token' ORDER BY id",
      [id],
    )
  ).rows.map(({ line }) => line);

describe('a token', () => {
  test('is created, shown once, and authenticates its owner', async () => {
    const { status, json, headers } = await send('POST', '', {
      body: { metadata: { name: 'ci' }, spec: { displayName: 'For CI', expiresAt: '2999-01-31T09:30:00.5+02:00' } },
    });
    expect(status).toBe(201);
    expect(json).toEqual({
      apiVersion: 'uc.api.security.svc.run/v1alpha1',
      kind: 'PersonalAccessToken',
      metadata: {
        name: 'ci',
        uid: expect.any(String),
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
      spec: { displayName: 'For CI', expiresAt: '2999-01-31T07:30:00Z', revoked: false },
      status: { expired: false, token: expect.any(String) },
    });
    expect([headers.get('location'), headers.get('cache-control'), headers.get('content-type')]).toEqual([
      `${path}/ci`,
      'no-store',
      'application/json',
    ]);
    const made = (json as unknown as PersonalToken).status.token!;
    expect(isPersonalToken(made)).toBe(true);
    expect((await who(made)).json).toEqual({
      name: username,
      uid: id,
      groups: ['system:authenticated'],
      extra: {
        'authentication.kubernetes.io/credential-id': [`PAT=${(json as unknown as PersonalToken).metadata.uid}`],
      },
      credentialExpires: '2999-01-31T07:30:00.500Z',
    });
    const again = await send('GET', '/ci');
    expect(again.json).toEqual({ ...json, status: { expired: false } });
    const hash = TokenStore.hash(made).toString('hex');
    for (const { json: shown } of [again, await send('GET')])
      for (const secret of [made, hash]) expect(JSON.stringify(shown)).not.toContain(secret);
    expect(await audit()).toEqual(['create ci until 2999-01-31T07:30:00Z']);
    expect(platform.logs.join('')).not.toContain(made);
  });

  test('is named by the server if it has no name', async () => {
    expect((await create()).metadata.name).toMatch(/^pat-[a-z0-9]{5}$/);
    expect((await create({}, { generateName: 'ci-' })).metadata.name).toMatch(/^ci-[a-z0-9]{5}$/);
    expect((await create({}, { generateName: 'a'.repeat(253) })).metadata.name).toMatch(/^a{248}[a-z0-9]{5}$/);
  });

  test('is listed to its owner only, by name', async () => {
    const other = await addToken({ userId: await platform.addUser({ username: `eve${count}` }), name: 'other' });
    await create({}, { name: 'b' });
    await create({}, { name: 'a' });
    const { json } = await send('GET');
    expect(json).toMatchObject({ kind: 'PersonalAccessTokenList', apiVersion: 'uc.api.security.svc.run/v1alpha1' });
    expect((json['items'] as PersonalToken[]).map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'first']);
    for (const [method, rest] of [
      ['GET', '/a'],
      ['DELETE', '/a'],
      ['PUT', '/a/actions/revocation'],
      ['PUT', '/a/actions/restoration'],
    ] as const) {
      expect(await send(method, rest, { as: other })).toMatchObject({
        status: 404,
        json: { reason: 'NotFound', message: 'personalaccesstokens.uc.api.security.svc.run "a" not found' },
      });
    }
    expect((await create({}, { name: 'a' }, other)).metadata.name).toBe('a');
  });

  test('is invalid from its revocation until its restoration', async () => {
    const made = (await create({}, { name: 'ci' })).status.token!;
    const revoked = await send('PUT', '/ci/actions/revocation');
    expect(revoked).toMatchObject({
      status: 200,
      json: { spec: { revoked: true }, status: { revokedAt: expect.any(String) } },
    });
    expect((await send('PUT', '/ci/actions/revocation')).json).toEqual(revoked.json);
    expect((await who(made)).status).toBe(401);
    expect(await send('PUT', '/ci/actions/restoration')).toMatchObject({
      status: 200,
      json: { spec: { revoked: false }, status: { expired: false } },
    });
    expect((await send('PUT', '/ci/actions/restoration')).status).toBe(200);
    expect((await who(made)).status).toBe(200);
    expect(await audit()).toEqual(['create ci until revoked', 'revoke ci ', 'restore ci ']);
  });

  test('may revoke and delete itself, and nothing else', async () => {
    expect((await send('DELETE', '/first')).json).toMatchObject({
      kind: 'Status',
      status: 'Success',
      details: {
        name: 'first',
        group: 'uc.api.security.svc.run',
        kind: 'personalaccesstokens',
        uid: expect.any(String),
      },
    });
    expect((await send('GET')).status).toBe(401);
    expect(await audit()).toEqual(['delete first ']);
  });

  test('that has expired is shown as expired, and is invalid', async () => {
    const made = (await create({ expiresAt: '2999-01-01T00:00:00Z' }, { name: 'ci' })).status.token!;
    await platform.database.pool.query(
      "UPDATE access.personal_tokens SET expires = now() - interval '1 second' WHERE user_id = $1 AND name = 'ci'",
      [id],
    );
    expect((await who(made)).status).toBe(401);
    expect((await send('GET', '/ci')).json).toMatchObject({ status: { expired: true } });
    await send('PUT', '/ci/actions/revocation');
    await send('PUT', '/ci/actions/restoration');
    expect((await who(made)).status).toBe(401);
  });
});

describe('a token with an expiry', () => {
  const expiresAt = '2999-01-01T00:00:00Z';

  test('creates none that expires later, or never', async () => {
    const as = (await create({ expiresAt }, { name: 'ends' })).status.token!;
    expect(await create({ expiresAt: '2999-01-01T00:00:01Z' }, {}, as)).toMatchObject({
      code: 422,
      details: {
        causes: [
          {
            field: 'spec.expiresAt',
            reason: 'FieldValueInvalid',
            message: expect.stringContaining(
              'must not be after 2999-01-01T00:00:00.000Z, when the credential of this request expires',
            ),
          },
        ],
      },
    });
    expect((await create({ expiresAt: '2998-01-01T00:00:00Z' }, {}, as)).spec.expiresAt).toBe('2998-01-01T00:00:00Z');
    expect((await create({ expiresAt }, {}, as)).spec.expiresAt).toBe(expiresAt);
    const child = await create({}, {}, as);
    expect(child.spec.expiresAt).toBe(expiresAt);
    expect((await create({}, {}, child.status.token)).spec.expiresAt).toBe(expiresAt);
    expect((await create()).spec.expiresAt).toBeUndefined();
  });

  test('restores none that expires later, or never', async () => {
    const as = (await create({ expiresAt }, { name: 'ends' })).status.token!;
    await create({ expiresAt: '2999-01-01T00:00:01Z' }, { name: 'later' });
    await create({ expiresAt }, { name: 'sooner' });
    for (const name of ['first', 'later', 'sooner'])
      expect((await send('PUT', `/${name}/actions/revocation`, { as })).status).toBe(200);
    for (const name of ['first', 'later'])
      expect(await send('PUT', `/${name}/actions/restoration`, { as })).toMatchObject({
        status: 403,
        json: { reason: 'Forbidden', message: expect.stringMatching(/it outlives the credential of this request$/) },
      });
    expect((await send('PUT', '/sooner/actions/restoration', { as })).status).toBe(200);
  });
});

describe('a token limited to roles', () => {
  test('carries its roles', async () => {
    const made = await create({ roles: ['view'] });
    expect(made.spec.roles).toEqual(['view']);
    expect((await who(made.status.token!)).json).toMatchObject({ name: username, restriction: { roles: ['view'] } });
    expect((await who((await create({ roles: [] })).status.token!)).json).toMatchObject({ restriction: { roles: [] } });
  });

  test('cannot have a role that its owner lacks, or one that does not exist', async () => {
    expect(await create({ roles: ['view', 'cluster-admin', 'nonsense'] })).toMatchObject({
      code: 422,
      details: {
        causes: ['spec.roles[1]', 'spec.roles[2]'].map((field) => ({
          field,
          reason: 'FieldValueInvalid',
          message: expect.stringContaining('is no ClusterRole that you hold'),
        })),
      },
    });
  });

  test('creates none with more permissions than itself', async () => {
    const as = await addToken({ userId: id, name: 'narrow', roles: ['view', 'svc:personal-tokens'] });
    expect((await create({}, {}, as)).spec.roles).toEqual(['view', 'svc:personal-tokens']);
    expect((await create({ roles: ['view'] }, {}, as)).spec.roles).toEqual(['view']);
    expect(await create({ roles: ['view', 'posts:manage'] }, {}, as)).toMatchObject({
      code: 422,
      details: { causes: [{ field: 'spec.roles[1]' }] },
    });
  });

  test('restores none with more permissions than itself', async () => {
    const as = await addToken({ userId: id, name: 'narrow', roles: ['view', 'svc:personal-tokens'] });
    await addToken({ userId: id, name: 'narrower', roles: ['view'] });
    for (const name of ['first', 'narrower'])
      expect((await send('PUT', `/${name}/actions/revocation`, { as })).status).toBe(200);
    expect(await send('PUT', '/first/actions/restoration', { as })).toMatchObject({
      status: 403,
      json: { reason: 'Forbidden' },
    });
    expect((await send('PUT', '/narrower/actions/restoration', { as })).status).toBe(200);
    expect((await who(token)).status).toBe(401);
  });

  test('is not accepted by the previous release', async () => {
    const made = await create({ roles: ['view'] }, { name: 'ci' });
    expect(made.spec.roles).toEqual(['view']);
    const { rows } = await platform.database.pool.query(
      "SELECT username FROM access.personal_tokens WHERE user_id = $1 AND name = 'ci'",
      [id],
    );
    expect(rows).toEqual([{ username: '' }]);
  });

  test('is offered the roles of its owner, except those of the system', async () => {
    const user: UserInfo = { name: username, uid: id, groups: [] };
    expect(await tokens.assignableRoles(user)).toEqual(['posts:manage', 'svc:personal-tokens', 'view']);
    expect(await tokens.assignableRoles({ ...user, restriction: { roles: ['view', 'cluster-admin'] } })).toEqual([
      'view',
    ]);
  });
});

describe('a refused request', () => {
  test.each<
    [string, { method?: string; rest?: string; body?: unknown; headers?: Record<string, string> }, number, string]
  >([
    ['a past expiry', { body: { spec: { expiresAt: '2020-01-01T00:00:00Z' } } }, 422, 'Invalid'],
    ['values of another type', { body: { spec: { roles: 'view' } } }, 422, 'Invalid'],
    ['a bad name', { body: { metadata: { name: 'A' } } }, 422, 'Invalid'],
    ['a name that is taken', { body: { metadata: { name: 'first' } } }, 409, 'AlreadyExists'],
    ['another kind', { body: { kind: 'Token' } }, 400, 'BadRequest'],
    ['another version', { body: { apiVersion: 'v1' } }, 400, 'BadRequest'],
    ['no body', {}, 400, 'BadRequest'],
    ['no object', { body: [] }, 400, 'BadRequest'],
    ['broken JSON', { body: '{', headers: { 'content-type': 'application/json' } }, 400, 'BadRequest'],
    ['U+0000', { body: { spec: { displayName: '\0' } } }, 400, 'BadRequest'],
    [
      'a form',
      { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      415,
      'UnsupportedMediaType',
    ],
    ['too large a body', { body: { spec: { displayName: 'a'.repeat(300_000) } } }, 413, 'RequestEntityTooLarge'],
    ['an Idempotency-Key', { body: {}, headers: { 'idempotency-key': 'a' } }, 400, 'BadRequest'],
    ['a dry run', { rest: '?dryRun=All', body: {} }, 400, 'BadRequest'],
    [
      'unknown fields, with strict validation',
      { rest: '?fieldValidation=Strict', body: { spec: { scopes: [] } } },
      400,
      'BadRequest',
    ],
    ['an unknown field validation', { rest: '?fieldValidation=x', body: {} }, 422, 'Invalid'],
    ['a watch', { method: 'GET', rest: '?watch=true' }, 405, 'MethodNotAllowed'],
    ['a selector', { method: 'GET', rest: '?labelSelector=a%3Db' }, 400, 'BadRequest'],
    ['a change', { method: 'PUT', rest: '/first', body: {} }, 405, 'MethodNotAllowed'],
    ['a patch', { method: 'PATCH', rest: '/first', body: {} }, 405, 'MethodNotAllowed'],
    ['a deletion of all', { method: 'DELETE' }, 405, 'MethodNotAllowed'],
    ['GET of an action', { method: 'GET', rest: '/first/actions/revocation' }, 405, 'MethodNotAllowed'],
    ['an unknown action', { method: 'PUT', rest: '/first/actions/x' }, 404, 'NotFound'],
    ['another resource', { method: 'GET', rest: '/../x' }, 404, 'NotFound'],
    ['an action as a dry run', { method: 'PUT', rest: '/first/actions/revocation?dryRun=All' }, 400, 'BadRequest'],
    ['a deletion as a dry run', { method: 'DELETE', rest: '/first', body: { dryRun: ['All'] } }, 400, 'BadRequest'],
    [
      'a deletion on a condition',
      { method: 'DELETE', rest: '/first', body: { preconditions: { uid: 'x' } } },
      400,
      'BadRequest',
    ],
  ])('%s', async (_reason, { method = 'POST', rest = '', body, headers = {} }, code, reason) => {
    expect(await send(method, rest, { body, headers })).toMatchObject({
      status: code,
      json: { kind: 'Status', status: 'Failure', code, reason },
    });
    expect((await send('GET', '/first')).status).toBe(200);
  });

  test('lists the allowed methods', async () => {
    expect((await send('DELETE')).headers.get('allow')).toBe('GET, HEAD, POST');
    expect((await send('PATCH', '/first')).headers.get('allow')).toBe('GET, HEAD, DELETE');
  });

  test('unknown and duplicate fields are reported, and ignored', async () => {
    const { status, headers } = await send('POST', '', {
      body: '{"spec": {"scopes": [], "displayName": "a", "displayName": "b"}}',
      headers: { 'content-type': 'application/json' },
    });
    expect([status, headers.get('warning')]).toEqual([
      201,
      '299 - "duplicate field \\"spec.displayName\\"", 299 - "unknown field \\"spec.scopes\\""',
    ]);
  });

  test('a token in a field that is shown is refused, and the response does not repeat it', async () => {
    for (const body of [
      { metadata: { name: token } },
      { metadata: { generateName: token } },
      { spec: { displayName: `my ${token}.` } },
      { spec: { expiresAt: token } },
      { spec: { roles: ['view', token] } },
    ]) {
      const { status, json } = await send('POST', '', { body });
      expect([status, json['message']]).toEqual([
        422,
        expect.stringMatching(
          /^PersonalAccessToken\.uc\.api\.security\.svc\.run "" is invalid: [a-zA-Z.]+: Forbidden: it holds a personal token$/,
        ),
      ]);
    }
  });

  test('YAML is accepted as well', async () => {
    expect(
      await send('POST', '', { body: 'spec:\n  displayName: yes\n', headers: { 'content-type': 'application/yaml' } }),
    ).toMatchObject({ status: 201, json: { spec: { displayName: 'yes' } } });
  });

  test('a deletion with the options of kubectl is accepted', async () => {
    expect(
      (
        await send('DELETE', '/first', {
          body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' },
        })
      ).status,
    ).toBe(200);
  });

  test('a user cannot have more than 100 tokens, even by concurrent requests', async () => {
    await platform.database.pool.query(
      "INSERT INTO access.personal_tokens (name, username, user_id, hash) SELECT 'many-' || i, '', $1::uuid, sha256(convert_to($1::uuid || '-' || i, 'UTF8')) FROM generate_series(1, 94) i",
      [id],
    );
    const answers = await Promise.all(Array.from({ length: 12 }, () => create()));
    expect(answers.filter(({ code }) => code === undefined)).toHaveLength(5);
    expect(answers.find(({ code }) => code !== undefined)).toMatchObject({
      code: 422,
      message: expect.stringContaining('delete one first'),
    });
  });

  test('a user cannot have two tokens of one name, even by concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({}, { name: 'ci' })));
    expect(answers.filter(({ code }) => code === 409)).toHaveLength(7);
    expect(answers.filter(({ code }) => code === undefined)).toHaveLength(1);
  });
});

describe('a caller who is not a user of access management', () => {
  test.each<[string, UserInfo, UserInfo | undefined]>([
    ['a plugin', { name: 'system:plugin:blog', uid: '', groups: [] }, undefined],
    ['somebody with an id of another kind', { name: 'mia', uid: 'x', groups: [] }, undefined],
    [
      'a caller who impersonates a user',
      { name: 'mia', uid: '00000000-0000-4000-8000-000000000000', groups: [] },
      { name: 'admin', uid: '', groups: [] },
    ],
  ])('%s has no tokens: 403', (_reason, user, impersonator) => {
    expect(() =>
      tokenOwnerOf({ user, impersonator, id: 'r', request: { socket: {}, headers: {} } } as never, proxies),
    ).toThrow(expect.objectContaining({ code: 403, reason: 'Forbidden' }));
  });

  test('a user who has just been deleted cannot create one', async () => {
    const owner = {
      user: { name: 'gone', uid: '00000000-0000-4000-8000-000000000000', groups: [] },
      address: '',
      requestId: '',
    };
    await expect(tokens.create(owner, {})).rejects.toMatchObject({ code: 403 });
  });
});

test('a database that does not respond in time is 503, with Retry-After', async () => {
  const { pool } = platform.database;
  await pool.query(
    "CREATE FUNCTION access.cancelled() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014'; END $$",
  );
  await pool.query(
    'CREATE TRIGGER cancelled BEFORE DELETE ON access.personal_tokens FOR EACH STATEMENT EXECUTE FUNCTION access.cancelled()',
  );
  try {
    const { status, headers, json } = await send('DELETE', '/first');
    expect([status, headers.get('retry-after'), json['message']]).toEqual([
      503,
      '1',
      'the database took too long for a statement',
    ]);
  } finally {
    await pool.query('DROP FUNCTION access.cancelled CASCADE');
  }
});
