import { Type } from 'typebox';
import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { noContent, type Operation } from '../operations/operation.ts';
import { openApiDocument } from './open-api-document.ts';
import { openApiFaults } from './openapitest/open-api-faults.ts';
import { line, nullable } from '../operations/field-schemas.ts';

const handle = (): Promise<typeof noContent> => Promise.resolve(noContent);
const record = Type.Object({
  id: Type.String({ format: 'uuid' }),
  email: nullable(Type.String({ examples: ['mia@example.com'] })),
});

const operations: Operation[] = [
  {
    method: 'POST',
    path: '/api/v1/login/',
    operationId: 'login',
    access: 'open',
    handle,
    document: {
      summary: 'Log in',
      tag: 'Authentication',
      body: Type.Object({ username: Type.String() }),
      answers: { 201: record, 400: Type.Object({}) },
    },
  },
  {
    method: 'GET',
    path: '/api/v1/users/',
    operationId: 'listUsers',
    access: 'user',
    handle,
    document: {
      summary: 'List users',
      tag: 'Users',
      inOrganization: true,
      query: Type.Object({ search: Type.Optional(Type.String({ description: 'In names.' })) }),
      answers: { 200: Type.Array(record) },
    },
  },
  {
    method: 'PATCH',
    path: '/api/v1/users/{id}/',
    operationId: 'patchUser',
    access: 'user',
    handle,
    document: {
      summary: 'Change a user',
      description: 'In part.',
      tag: 'Users',
      body: Type.Object({ groups: Type.Optional(Type.Array(Type.String())) }),
      answers: { 200: record },
    },
  },
  {
    method: 'DELETE',
    path: '/api/v1/users/{id}/',
    operationId: 'deleteUser',
    access: 'user',
    handle,
    document: { summary: 'Remove a user', tag: 'Users', answers: { 204: null } },
  },
  { method: 'GET', path: '/settings/', operationId: 'getSettings', access: 'open', handle },
];
const document = openApiDocument(operations, { svcVersion: '2.22.0' });
const operationOf = (path: string, method: string): JsonObject =>
  (document['paths'] as Record<string, Record<string, JsonObject>>)[path]![method]!;

describe('the OpenAPI document', () => {
  test('is valid', () => {
    expect(document['openapi']).toBe('3.1.0');
    expect(openApiFaults(document)).toEqual([]);
  });

  test('names the address it was fetched from, which works, before the public one', () => {
    expect(document['servers']).toEqual([{ url: '/' }]);
    expect(openApiDocument(operations, { svcVersion: '2.22.0', publicUrl: 'https://a.example' })['servers']).toEqual([
      { url: '/' },
      { url: 'https://a.example' },
    ]);
  });

  test('an invalid document is detected', () => {
    const paths = {
      '/a/{id}/': {
        get: { operationId: 'same', parameters: [], answers: { 200: { $ref: '#/components/responses/Nothing' } } },
      },
      '/b/': { get: { operationId: 'same', parameters: [], answers: {} } },
    };
    expect(openApiFaults({ ...document, paths }).length).toBeGreaterThanOrEqual(3);
    expect(openApiFaults({ ...document, paths: { 'no-slash': {} } })).not.toEqual([]);
  });

  test('has the documented operations, and no pages', () => {
    expect(Object.keys(document['paths'] as JsonObject)).toEqual([
      '/api/v1/login/',
      '/api/v1/users/',
      '/api/v1/users/{id}/',
    ]);
    expect(document['tags']).toEqual([{ name: 'Authentication' }, { name: 'Users' }]);
  });

  test('names the four ways to authenticate as alternatives', () => {
    expect((document['components'] as JsonObject)['securitySchemes']).toMatchObject({
      signature: { in: 'header', name: 'Authorization', description: expect.stringContaining('(request-target)') },
      privateToken: {
        in: 'header',
        name: 'Authorization',
        description: expect.stringContaining('Token <PRIVATE_TOKEN>'),
      },
      bearer: { type: 'http', scheme: 'bearer' },
      session: { in: 'cookie', name: 'svc_sessionid' },
    });
    expect(document['security']).toEqual([{ signature: [] }, { privateToken: [] }, { bearer: [] }, { session: [] }]);
    expect(operationOf('/api/v1/login/', 'post')['security']).toEqual([]);
    expect(operationOf('/api/v1/users/', 'get')['security']).toBeUndefined();
  });

  test('shows the organization if one can be selected, and the CSRF token if something is changed', () => {
    const references = (operation: JsonObject): unknown[] =>
      (operation['parameters'] as JsonObject[]).map(({ $ref: reference, name }) => reference ?? name);
    expect(references(operationOf('/api/v1/users/', 'get'))).toEqual([
      'search',
      '#/components/parameters/Organization',
      '#/components/parameters/OrganizationId',
    ]);
    expect(references(operationOf('/api/v1/users/{id}/', 'delete'))).toEqual([
      'id',
      '#/components/parameters/CsrfToken',
    ]);
    expect(references(operationOf('/api/v1/login/', 'post'))).toEqual([]);
  });

  test('offers a form if all fields are texts', () => {
    const typesOf = (operation: JsonObject): string[] =>
      Object.keys((operation['requestBody'] as JsonObject)['content'] as JsonObject);
    expect(typesOf(operationOf('/api/v1/login/', 'post'))).toEqual([
      'application/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
    ]);
    expect(typesOf(operationOf('/api/v1/users/{id}/', 'patch'))).toEqual(['application/json']);
  });

  test.each([
    ['/api/v1/login/', 'post', ['201', '400', '401', '413', '415', '429', 'default']],
    ['/api/v1/users/', 'get', ['200', '400', '401', '403', '404', '429', 'default']],
    ['/api/v1/users/{id}/', 'delete', ['204', '401', '403', '404', '429', 'default']],
  ])('%s %s lists all its responses', (path, method, expected) => {
    const { responses } = operationOf(path, method);
    expect(Object.keys(responses as JsonObject).toSorted()).toEqual(expected);
  });

  test('keeps the description of an operation', () => {
    expect(operationOf('/api/v1/login/', 'post')['responses']).toMatchObject({
      400: { content: { 'application/json': { schema: { type: 'object' } } } },
    });
    expect(operationOf('/api/v1/users/{id}/', 'delete')['responses']).toMatchObject({
      204: { description: 'No Content' },
    });
  });
});

test('a schema is shown without the keywords for validation only', () => {
  const schema = { type: 'string', minLength: 1, maxLength: 3, enum: ['x'] };
  const field = line({ maxLength: 3, enum: ['x'], fault: () => 'No.', refusal: 'Expected x.' });
  const shown = openApiDocument(
    [
      {
        ...operations[0]!,
        document: {
          summary: 'Log in',
          tag: 'Authentication',
          answers: { 201: Type.Object({ field, none: nullable(field) }) },
        },
      },
    ],
    { svcVersion: '2.22.0' },
  );
  expect(JSON.stringify(shown)).toContain(
    JSON.stringify({
      type: 'object',
      required: ['field', 'none'],
      properties: { field: schema, none: { ...schema, type: ['string', 'null'] } },
    }),
  );
});
