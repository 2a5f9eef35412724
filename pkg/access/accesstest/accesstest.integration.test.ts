import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jsonAnswer, type Operation } from '../operations/operation.ts';
import { defaultOrgId } from './add-user.ts';
import { startAccessTest, type AccessTest } from './start-access-test.ts';

const whoAmI: Operation = {
  method: 'GET',
  path: '/api/v1/who/',
  operationId: 'whoAmI',
  access: 'user',
  handle: async ({ caller }) =>
    jsonAnswer(200, { id: caller.id, roles: [...caller.systemRoles, ...(caller.orgRoles.get(defaultOrgId) ?? [])] }),
};

let server: AccessTest;
beforeAll(async () => {
  server = await startAccessTest({ operations: () => [whoAmI] });
});
afterAll(() => server.stop());

test('a user inserted into the tables is known to every replica', async () => {
  const id = await server.addUser({ username: 'mia', orgRoles: { [defaultOrgId]: ['OrgUser'] } });
  const other = await server.startReplica();
  for (const replica of [server, other]) {
    expect(await replica.send('GET', '/api/v1/who/', { as: id })).toMatchObject({
      status: 200,
      json: { id, roles: ['SystemUser', 'OrgUser'] },
    });
  }
});

test('requests without a credential, or with one of a disabled user, are refused', async () => {
  const id = await server.addUser({ username: 'gone', isActive: false });
  expect(await server.send('GET', '/api/v1/who')).toMatchObject({ status: 401, json: { code: 'not_authenticated' } });
  expect(await server.send('GET', '/api/v1/who', { as: id })).toMatchObject({
    status: 401,
    json: { code: 'authentication_failed' },
  });
  expect(await server.send('GET', '/api/v1/who', { as: 'nonsense' })).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': 'Bearer realm="api"' },
  });
});
