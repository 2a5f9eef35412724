import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { signDraft } from './keytest/sign.ts';
import { startKeyTest, type KeyTest } from './keytest/start-key-test.ts';

const path = '/api/v1/authentication/access-keys/';
const absent = '0a0b0c0d-0000-4000-8000-00000000beef';

let server: KeyTest;
let mia: string;
let admin: string;

beforeAll(async () => {
  server = await startKeyTest();
  mia = server.userId;
  admin = await server.addUser({ username: 'admin', systemRoles: ['SystemAdmin'] });
});
beforeEach(async () => {
  await server.access.pool.query('TRUNCATE access.access_keys, access.operate_logs');
});
afterAll(() => server.stop());

interface KeyJson {
  id: string;
  secret?: string;
  ip_group: string[];
  is_active: boolean;
  date_created: string;
  date_last_used: string | null;
}

async function create(as: string, body?: unknown): Promise<KeyJson> {
  const answer = await server.send('POST', path, { as, body });
  expect(answer.status).toBe(201);
  return answer.json as KeyJson;
}

async function audited(): Promise<string[]> {
  const { rows } = await server.access.pool.query<{ text: string }>(
    "SELECT concat_ws(' ', username, action, resource_type, resource, detail) AS text FROM access.operate_logs ORDER BY id",
  );
  return rows.map(({ text }) => text.trim());
}

describe('an access key', () => {
  test('shows its secret once, when it is created', async () => {
    const { secret, ...key } = await create(mia);
    expect(secret).toMatch(/^[0-9A-Za-z]{36}$/);
    expect(key).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ip_group: ['*'],
      is_active: true,
      date_created: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      date_last_used: null,
    });
    for (const at of [
      path,
      path.slice(0, -1),
      `${path}${key.id}/`,
      `${path}${key.id}`,
      `${path}${key.id.toUpperCase()}/`,
    ]) {
      const answer = await server.send('GET', at, { as: mia });
      expect(answer).toMatchObject({
        status: 200,
        json: at.includes(key.id.slice(0, 8)) || at.includes(key.id.slice(0, 8).toUpperCase()) ? key : [key],
      });
      expect(answer.text).not.toContain(secret);
    }
    const { rows } = await server.access.pool.query<{ row: string; secret: Buffer }>(
      'SELECT k::text AS row, secret FROM access.access_keys k',
    );
    expect(rows[0]!.row + rows[0]!.secret.toString('latin1')).not.toContain(secret);
  });

  test('is created with the values of the request, as JSON and as a form', async () => {
    expect(
      await create(mia, { ip_group: ['10.0.0.0/8', '::1'], is_active: false, id: absent, date_last_used: 'x' }),
    ).toMatchObject({ ip_group: ['10.0.0.0/8', '::1'], is_active: false, date_last_used: null });
    const form = await server.send('POST', path, {
      as: mia,
      body: 'ip_group=10.0.0.1%2C+10.0.0.2&is_active=true',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(form).toMatchObject({ status: 201, json: { ip_group: ['10.0.0.1', '10.0.0.2'], is_active: true } });
  });

  test('is changed only in the fields that were sent, by PATCH and by PUT, and deleted', async () => {
    const { id } = await create(mia);
    expect(await server.send('PATCH', `${path}${id}/`, { as: mia, body: { is_active: false } })).toMatchObject({
      status: 200,
      json: { id, is_active: false, ip_group: ['*'] },
    });
    expect(await server.send('PUT', `${path}${id}`, { as: mia, body: { ip_group: ['127.0.0.1'] } })).toMatchObject({
      status: 200,
      json: { is_active: false, ip_group: ['127.0.0.1'] },
    });
    expect(await server.send('DELETE', `${path}${id}/`, { as: mia })).toMatchObject({ status: 204, text: '' });
    expect(await server.send('DELETE', `${path}${id}/`, { as: mia })).toMatchObject({ status: 404 });
    expect(await server.send('GET', path, { as: mia })).toMatchObject({ json: [] });
    expect(await audited()).toEqual([
      `mia create access_key ${id}`,
      `mia update access_key ${id} is_active: false`,
      `mia update access_key ${id} ip_group`,
      `mia delete access_key ${id}`,
    ]);
  });

  test.each<[string, unknown]>([
    ['ip_group', { ip_group: ['10.0.0.256'] }],
    ['ip_group', { ip_group: [] }],
    ['ip_group', { ip_group: [['10.0.0.1']] }],
    ['ip_group', { ip_group: { 0: '10.0.0.1' } }],
    ['ip_group', { ip_group: null }],
    ['ip_group', { ip_group: '' }],
    ['ip_group', { ip_group: Array.from({ length: 101 }, () => '*') }],
    ['is_active', { is_active: 'yes' }],
    ['is_active', { is_active: 1 }],
    ['is_active', { is_active: null }],
    ['non_field_errors', ['*']],
  ])('is refused for its %s: %j', async (field, body) => {
    const { id } = await create(mia);
    for (const [method, at] of [
      ['POST', path],
      ['PATCH', `${path}${id}/`],
      ['PUT', `${path}${id}/`],
    ] as const) {
      expect(await server.send(method, at, { as: mia, body })).toMatchObject({
        status: 400,
        json: { [field]: [expect.any(String)] },
      });
    }
    expect(await server.send('GET', path, { as: mia })).toMatchObject({
      json: [{ id, ip_group: ['*'], is_active: true }],
    });
  });

  test('cannot be created with an Idempotency-Key', async () => {
    expect(await server.send('POST', path, { as: mia, headers: { 'Idempotency-Key': 'a' } })).toMatchObject({
      status: 400,
      json: { code: 'invalid' },
    });
    expect(await server.send('GET', path, { as: mia })).toMatchObject({ json: [] });
  });

  test('is visible to its owner only, not to an administrator', async () => {
    const { id } = await create(mia);
    for (const id2 of [id, absent, 'nonsense', '%00', `${id}'`]) {
      for (const method of ['GET', 'PATCH', 'PUT', 'DELETE']) {
        const answer = await server.send(method, `${path}${id2}/`, {
          as: admin,
          ...(method === 'GET' || method === 'DELETE' ? {} : { body: { is_active: false } }),
        });
        expect(answer.status).toBe(id2 === '%00' ? 400 : 404);
      }
    }
    expect(await server.send('GET', path, { as: admin })).toMatchObject({ json: [] });
    expect(await server.send('GET', path, { as: mia })).toMatchObject({ json: [{ id, is_active: true }] });
    expect(await server.send('GET', path)).toMatchObject({ status: 401 });
  });
});

describe('a key that is limited to addresses', () => {
  const asKey = (key: { id: string; secret: string }, method: string, target: string, body?: object) => {
    const headers = { Accept: 'application/json', Date: new Date().toUTCString() };
    return server.send(method, target, {
      body,
      headers: {
        ...headers,
        Authorization: signDraft(
          { method, target, headers },
          { keyId: key.id, secret: key.secret, algorithm: 'hmac-sha256' },
        ),
      },
    });
  };
  const limit = { ip_group: ['127.0.0.0/8', '::1'] };

  test("cannot create keys or change addresses, its own or another key's", async () => {
    const limited = (await create(mia, limit)) as { id: string; secret: string };
    const free = (await create(mia)) as { id: string; secret: string };
    expect(await asKey(limited, 'POST', path, limit)).toMatchObject({
      status: 403,
      json: { code: 'permission_denied' },
    });
    for (const { id } of [limited, free]) {
      for (const method of ['PUT', 'PATCH'])
        expect(await asKey(limited, method, `${path}${id}/`, { ip_group: ['*'] })).toMatchObject({ status: 403 });
    }
    expect(await asKey(limited, 'PATCH', `${path}${limited.id}/`, { is_active: true })).toMatchObject({
      status: 200,
      json: limit,
    });
    expect(await asKey(free, 'PATCH', `${path}${limited.id}/`, { ip_group: ['127.0.0.1'] })).toMatchObject({
      status: 200,
    });
    expect((await asKey(free, 'POST', path)).status).toBe(201);
    expect((await asKey(limited, 'DELETE', `${path}${free.id}/`)).status).toBe(204);
  });
});

describe('a user', () => {
  test('has at most ten keys, even by concurrent requests to several replicas', async () => {
    const replica = await server.startReplica();
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? server : replica).send('POST', path, { as: mia })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(answers.find(({ status }) => status !== 201)).toMatchObject({
      status: 400,
      json: { non_field_errors: [expect.stringContaining('10 access keys')] },
    });
    await create(admin);
    const keys = (await server.send('GET', path, { as: mia })).json as KeyJson[];
    expect(keys).toHaveLength(10);
    await server.send('DELETE', `${path}${keys[3]!.id}/`, { as: mia });
    await create(mia);
    expect(await audited()).toHaveLength(13);
  });

  test('lists them as a whole or by page', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.push((await create(mia)).id);
    expect(((await server.send('GET', path, { as: mia })).json as KeyJson[]).map(({ id }) => id)).toEqual(ids);
    expect(await server.send('GET', `${path}?limit=2&offset=1&x=y`, { as: mia })).toMatchObject({
      status: 200,
      json: {
        count: 3,
        next: null,
        previous: `${server.url}${path}?limit=2&offset=0&x=y`,
        results: [{ id: ids[1] }, { id: ids[2] }],
      },
    });
    expect(await server.send('GET', `${path}?limit=x`, { as: mia })).toMatchObject({
      status: 400,
      json: { limit: [expect.any(String)] },
    });
  });
});
