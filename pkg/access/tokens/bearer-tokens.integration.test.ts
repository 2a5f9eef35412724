import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { waitMs, pollUntil } from '../../testenv/faults/poll-until.ts';
import {
  startAccessTest,
  type AccessAnswer,
  type AccessReplica,
  type AccessTest,
  type AccessTestParts,
} from '../accesstest/start-access-test.ts';
import { jsonAnswer, type Operation } from '../operations/operation.ts';
import { BearerTokens } from './bearer-tokens.ts';

const whoAmI: Operation = {
  method: 'GET',
  path: '/api/v1/who/',
  operationId: 'who',
  access: 'user',
  handle: async ({ caller }) => jsonAnswer(200, { id: caller.id }),
};
const tokensOf = ({ access, audit }: AccessTestParts): BearerTokens =>
  new BearerTokens({ database: access, audit, perUser: 5 });

let server: AccessTest;
let other: AccessReplica;
let tokens: BearerTokens;
let user: string;
beforeAll(async () => {
  server = await startAccessTest({ operations: () => [whoAmI], credentials: (parts) => [tokensOf(parts).credential] });
  other = await server.startReplica();
  tokens = tokensOf(server);
  user = await server.addUser({ username: 'mia' });
});
afterAll(() => server.stop());

const issue = async (id = user): Promise<string> => (await tokens.issue(id))!.token;
const ask = (authorization: string, on: AccessReplica = server): Promise<AccessAnswer> =>
  on.send('GET', '/api/v1/who/', { headers: { Authorization: authorization } });

test('a token is accepted on every replica, with the scheme in any case; only its hash is stored', async () => {
  const token = await issue();
  for (const replica of [server, other]) {
    for (const scheme of ['Bearer', 'bearer', 'BEARER '])
      expect(await ask(`${scheme} ${token}`, replica)).toMatchObject({ status: 200, json: { id: user } });
  }
  const { rows } = await server.access.pool.query('SELECT t::text FROM access.bearer_tokens t');
  expect(JSON.stringify(rows)).not.toContain(token);
});

test.each([
  { header: 'Bearer', reason: 'no value' },
  { header: 'Bearer a b', reason: 'two values' },
  { header: `Bearer ${'a'.repeat(36)}`, reason: 'an invented one' },
  { header: `Bearer ${'a'.repeat(35)}`, reason: 'one that is too short' },
  { header: `Bearer ${'ä'.repeat(36)}`, reason: 'invalid letters' },
  { header: `Bearer ${'a'.repeat(600)}`, reason: 'one that is far too long' },
])('$reason is 401, without the reason', async ({ header }) => {
  expect(await ask(header)).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': 'Bearer realm="api"' },
    json: { detail: 'The credential is not valid.', code: 'authentication_failed' },
  });
});

test('a failed use is recorded in the audit, without the token', async () => {
  await server.access.pool.query('TRUNCATE access.operate_logs');
  const token = 'Z'.repeat(36);
  await ask(`Bearer ${token}`);
  const { rows } = await server.access.pool.query('SELECT * FROM access.operate_logs');
  expect(rows).toMatchObject([
    { username: '', user_id: null, action: 'failed_use', resource_type: 'bearer_token', remote_addr: '127.0.0.1' },
  ]);
  expect(JSON.stringify([rows, server.logs])).not.toContain(token);
});

test.each([
  { end: 'UPDATE access.bearer_tokens SET expires = now() WHERE user_id = $1', reason: 'it has expired' },
  { end: 'UPDATE access.users SET is_active = false WHERE id = $1', reason: 'its user is disabled' },
  { end: 'UPDATE access.users SET date_expired = now() WHERE id = $1', reason: 'its user has expired' },
  { end: 'DELETE FROM access.users WHERE id = $1', reason: 'its user is deleted' },
])('a token is invalid at the next request of every replica once $reason', async ({ end, reason }) => {
  const id = await server.addUser({ username: reason.replaceAll(' ', '-') });
  const token = await issue(id);
  expect((await ask(`Bearer ${token}`, other)).status).toBe(200);
  await server.access.pool.query(end, [id]);
  for (const replica of [server, other])
    expect(await ask(`Bearer ${token}`, replica)).toMatchObject({
      status: 401,
      json: { code: 'authentication_failed' },
    });
});

test('a request costs one statement, which reads the user too', async () => {
  const token = await issue();
  let count = 0;
  const counting = (): void => void (count += 1);
  server.access.pool.on('acquire', counting);
  expect((await ask(`Bearer ${token}`)).status).toBe(200);
  server.access.pool.off('acquire', counting);
  expect(count).toBe(1);
});

test('all of a user end together', async () => {
  const id = await server.addUser({ username: 'ben' });
  const [mine, first, second] = [await issue(), await issue(id), await issue(id)];
  await tokens.revokeAll(id);
  expect(
    (await Promise.all([mine, first, second].map((token) => ask(`Bearer ${token}`)))).map(({ status }) => status),
  ).toEqual([200, 401, 401]);
});

test('beyond the maximum number the oldest are removed', async () => {
  const id = await server.addUser({ username: 'many' });
  const issued: string[] = [];
  for (let i = 0; i < 7; i += 1) issued.push(await issue(id));
  expect((await Promise.all(issued.map((token) => ask(`Bearer ${token}`)))).map(({ status }) => status)).toEqual([
    401, 401, 200, 200, 200, 200, 200,
  ]);
});

test('none is issued without a user, or if the password was changed meanwhile', async () => {
  expect(await tokens.issue('00000000-0000-4000-8000-000000000000')).toBeUndefined();
  const id = await server.addUser({ username: 'eve' });
  expect(await tokens.issue(id, { passwordChanged: '' })).toBeDefined();
  await server.access.pool.query('UPDATE access.users SET password_changed = now() WHERE id = $1', [id]);
  expect(await tokens.issue(id, { passwordChanged: '' })).toBeUndefined();
});

test('a login during a change of the password leaves no token', async () => {
  const id = await server.addUser({ username: 'racer' });
  let issued: Promise<unknown> = Promise.resolve();
  await server.access.transaction(async (on) => {
    await on.query('UPDATE access.users SET password_changed = now() WHERE id = $1', [id]);
    await tokens.revokeAll(id, on);
    // Waits for this transaction, although the change is not visible yet.
    issued = tokens.issue(id, { passwordChanged: '' });
    await untilWaiting();
  });
  expect(await issued).toBeUndefined();
});

/** Resolves when a statement waits for a lock. */
async function untilWaiting(): Promise<void> {
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  await pollUntil(
    async () => (await server.database.pool.query(waiting)).rowCount !== 0,
    waitMs(),
    'a session that waits for a lock',
  );
}
