import { expect, test } from '@jest/globals';
import type { AccessError } from '../http/access-error.ts';
import { OperationTable } from './operation-table.ts';
import { noContent, type Method, type Operation } from './operation.ts';

const operation = (method: Method, path: string): Operation => ({
  method,
  path,
  operationId: `${method} ${path}`,
  access: 'open',
  handle: async () => noContent,
});
const table = new OperationTable([
  operation('GET', '/api/v1/users/users/'),
  operation('POST', '/api/v1/users/users/'),
  operation('GET', '/api/v1/users/users/{id}/'),
  operation('PUT', '/api/v1/users/users/{id}/unblock/'),
  operation('GET', '/api/v1/users/profile/'),
  operation('GET', '/api/openapi.json'),
]);
const refusal = (method: string, path: string): AccessError => {
  try {
    table.find(method, path);
  } catch (error) {
    return error as AccessError;
  }
  throw new Error('it was found');
};

test.each([
  ['GET', '/api/v1/users/users/', 'GET /api/v1/users/users/', {}],
  ['GET', '/api/v1/users/users', 'GET /api/v1/users/users/', {}],
  ['HEAD', '/api/v1/users/users', 'GET /api/v1/users/users/', {}],
  ['GET', '/api/v1/users/users/a', 'GET /api/v1/users/users/{id}/', { id: 'a' }],
  ['PUT', '/api/v1/users/users/a/unblock', 'PUT /api/v1/users/users/{id}/unblock/', { id: 'a' }],
  ['GET', '/api/openapi.json', 'GET /api/openapi.json', {}],
])('%s %s', (method, path, operationId, params) => {
  const found = table.find(method, path);
  expect([found.operation.operationId, found.params]).toEqual([operationId, params]);
});

test.each([
  '/',
  '',
  '/api/v1/users/',
  '/api/v1/users/users//',
  '/api/v1//users/users/',
  '/api/v1/users/users/a/other/',
  '/api/v1/users/Users/',
  '/api/v1/users/users/a/unblock/more',
])('404 for %j', (path) => {
  expect(refusal('GET', path)).toMatchObject({ status: 404, body: { code: 'not_found' } });
});

test('405 lists the allowed methods', () => {
  expect(refusal('DELETE', '/api/v1/users/users/')).toMatchObject({
    status: 405,
    headers: { Allow: 'GET, POST, HEAD' },
    body: { code: 'method_not_allowed' },
  });
});

test('a method and a path have one operation', () => {
  expect(() => new OperationTable([operation('GET', '/a/{id}/'), operation('GET', '/a/{name}/')])).toThrow(
    'two operations for GET /a/{name}/',
  );
});

test('a parameter has one name', () => {
  expect(() => new OperationTable([operation('GET', '/a/{id}/'), operation('PUT', '/a/{name}/')])).toThrow(
    'a parameter of /a/{name}/ is named {id} in another path',
  );
});
