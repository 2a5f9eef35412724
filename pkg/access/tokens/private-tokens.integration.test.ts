import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startAccessTest, type AccessTest } from '../accesstest/start-access-test.ts';
import { jsonAnswer, type Operation } from '../operations/operation.ts';
import { KeyRing } from '../secrets/key-ring.ts';
import { openKeyRing } from '../secrets/open-key-ring.ts';
import { SecretBox } from '../secrets/secret-box.ts';
import { SecretKey } from '../secrets/secret-key.ts';
import { PrivateTokenError } from './private-token-error.ts';
import { privateTokenCredential } from './private-token-credential.ts';
import { PrivateTokens } from './private-tokens.ts';

const whoAmI: Operation = {
  method: 'GET',
  path: '/api/v1/who/',
  operationId: 'whoAmI',
  access: 'user',
  handle: async ({ caller }) => jsonAnswer(200, { id: caller.id }),
};
const path = whoAmI.path;

let server: AccessTest;
let folder: string;
let box: SecretBox;
let tokens: PrivateTokens;
let mia: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-private-tokens-'));
  server = await startAccessTest({
    operations: () => [whoAmI],
    credentials: ({ access, audit }) => [
      privateTokenCredential({
        tokens: { findOwner: (token) => new PrivateTokens({ database: access, box, audit }).findOwner(token) },
        audit,
      }),
    ],
  });
  box = new SecretBox(await openKeyRing(server.access, { dataDir: folder }));
  tokens = new PrivateTokens({ database: server.access, box, audit: server.audit });
});
beforeEach(async () => {
  await server.access.pool.query('TRUNCATE access.users, access.operate_logs CASCADE');
  mia = await server.addUser({ username: 'Mia' });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const problemOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof PrivateTokenError ? error.problem : error),
  );
const lastUsed = async (): Promise<number | undefined> =>
  (
    await server.access.pool.query<{ used: Date | null }>('SELECT date_last_used AS used FROM access.private_tokens')
  ).rows[0]?.used?.getTime();
const audit = async (): Promise<unknown[]> =>
  (
    await server.access.pool.query(
      'SELECT action, resource_type AS type, resource, username, remote_addr AS address FROM access.operate_logs ORDER BY id',
    )
  ).rows;

describe('the private token of a user', () => {
  test('is created, shown, replaced and deleted, by the username in any case, each recorded in the audit', async () => {
    const token = await tokens.create('MIA');
    expect(token).toMatch(/^[0-9a-f]{40}$/);
    expect(await tokens.findOwner(token)).toBe(mia);
    expect(await tokens.show('mia')).toBe(token);
    const fresh = await tokens.rotate('mia');
    expect([await tokens.findOwner(token), await tokens.findOwner(fresh), await tokens.show('Mia')]).toEqual([
      undefined,
      mia,
      fresh,
    ]);
    await tokens.delete('mia');
    expect(await tokens.findOwner(fresh)).toBeUndefined();
    expect(await audit()).toEqual(
      ['create', 'show', 'rotate', 'show', 'delete'].map((action) => ({
        action,
        type: 'private_token',
        resource: 'Mia',
        username: '',
        address: '',
      })),
    );
  });

  test('exists once: what cannot be done gives the reason, and is not recorded in the audit', async () => {
    for (const verb of ['create', 'show', 'rotate', 'delete'] as const)
      expect(await problemOf(tokens[verb]('nobody'))).toBe('unknown-user');
    for (const verb of ['show', 'rotate', 'delete'] as const) expect(await problemOf(tokens[verb]('mia'))).toBe('none');
    expect(await audit()).toEqual([]);
    const made = await Promise.allSettled(Array.from({ length: 6 }, () => tokens.create('mia')));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await problemOf(tokens.create('mia'))).toBe('exists');
    expect(await audit()).toHaveLength(1);
  });

  test('of many concurrent replacements is the one that is shown', async () => {
    await tokens.create('mia');
    const made = await Promise.all(Array.from({ length: 6 }, () => tokens.rotate('mia')));
    const shown = await tokens.show('mia');
    expect(made).toContain(shown);
    expect(await Promise.all(made.map((token) => tokens.findOwner(token)))).toEqual(
      made.map((token) => (token === shown ? mia : undefined)),
    );
  });

  test('is in no column in clear text, and is deleted with its user', async () => {
    const token = await tokens.create('mia');
    const { rows } = await server.access.pool.query<{ row: string }>(
      'SELECT t::text || encode(secret, $1) AS row FROM access.private_tokens t',
      ['escape'],
    );
    expect(rows[0]!.row).not.toContain(token);
    expect(rows[0]!.row).not.toContain(Buffer.from(token).toString('hex'));
    await server.access.pool.query('DELETE FROM access.users');
    expect(await tokens.findOwner(token)).toBeUndefined();
  });

  test('is bound to its user: a sealed secret that was moved does not open', async () => {
    await server.addUser({ username: 'Ada' });
    await tokens.create('mia');
    await tokens.create('ada');
    await server.access.pool.query(
      'UPDATE access.private_tokens t SET secret = o.secret FROM access.private_tokens o WHERE o.user_id <> t.user_id',
    );
    await expect(tokens.show('mia')).rejects.toMatchObject({ name: 'SecretError', reason: 'unreadable' });
  });
});

describe('its use', () => {
  test('is recorded at most once a minute, and requests do not wait for it', async () => {
    const token = await tokens.create('mia');
    expect(await lastUsed()).toBeUndefined();
    await tokens.findOwner(token);
    const first = await lastUsed();
    expect(first).toBeDefined();
    await tokens.findOwner(token);
    expect(await lastUsed()).toBe(first);
    await server.access.pool.query("UPDATE access.private_tokens SET date_last_used = now() - interval '61 seconds'");
    const client = await server.access.pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM access.private_tokens FOR UPDATE');
    expect(await tokens.findOwner(token)).toBe(mia);
    await client.query('ROLLBACK');
    client.release();
    await tokens.findOwner(token);
    expect(await lastUsed()).toBeGreaterThanOrEqual(first!);
  });

  test('costs one statement, for any number of keys and of concurrent requests', async () => {
    const token = await tokens.create('mia');
    const asked: unknown[] = [];
    const observed = new PrivateTokens({
      database: Object.assign(Object.create(server.access) as typeof server.access, {
        pool: {
          query: (config: object) => {
            asked.push(config);
            return server.access.pool.query(config as never);
          },
        },
      }),
      box: new SecretBox(
        new KeyRing([SecretKey.generate(), ...(await openKeyRing(server.access, { dataDir: folder })).keys]),
      ),
      audit: server.audit,
    });
    expect(await observed.findOwner(token)).toBe(mia);
    expect(asked).toHaveLength(1);
    await Promise.all(Array.from({ length: 20 }, () => observed.findOwner(token)));
    expect(asked.length).toBeLessThanOrEqual(3);
    const before = asked.length;
    for (const wrong of ['', 'x', 'A'.repeat(40), `${token}0`, `${token}\n`, '\0'.repeat(40)])
      await observed.findOwner(wrong);
    expect(asked.length).toBe(before);
  });
});

describe('Authorization: Token', () => {
  const send = (authorization: string): Promise<{ status: number; json: unknown; headers: Record<string, unknown> }> =>
    server.send('GET', path, { headers: { authorization } });

  test('authenticates its user, with the scheme in any case', async () => {
    const token = await tokens.create('mia');
    for (const scheme of ['Token', 'token', 'TOKEN'])
      expect(await send(`${scheme} ${token}`)).toMatchObject({ status: 200, json: { id: mia } });
    expect(await send(`Bearer ${token}`)).toMatchObject({ status: 401, json: { code: 'authentication_failed' } });
  });

  test('is invalid for a disabled user at the next request, and after a rotation', async () => {
    const token = await tokens.create('mia');
    await server.access.pool.query('UPDATE access.users SET is_active = false');
    expect((await send(`Token ${token}`)).status).toBe(401);
    await server.access.pool.query('UPDATE access.users SET is_active = true');
    await tokens.rotate('mia');
    expect((await send(`Token ${token}`)).status).toBe(401);
  });

  test('with a wrong token always gets the same 401, and is recorded in the audit without the token', async () => {
    const token = await tokens.create('mia');
    const wrong = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
    for (const value of [wrong, 'x', 'A'.repeat(40), `${token} ${token}`, '']) {
      expect(await send(`Token ${value}`)).toMatchObject({
        status: 401,
        json: { code: 'authentication_failed' },
        headers: { 'www-authenticate': 'Token realm="api"' },
      });
    }
    expect(await audit()).toContainEqual({
      action: 'failed_use',
      type: 'private_token',
      resource: '',
      username: '',
      address: '127.0.0.1',
    });
    expect(JSON.stringify([await audit(), server.logs])).not.toContain(wrong);
    expect(JSON.stringify([await audit(), server.logs])).not.toContain(token);
  });
});
