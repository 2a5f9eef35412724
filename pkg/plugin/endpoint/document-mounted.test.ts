import { describe, expect, test } from '@jest/globals';
import type { JsonSchema } from '#pkg/apimachinery/index';
import type { PluginEndpoint } from '#pkg/apis/index';
import { documentMounted } from './document-mounted.ts';
import { EndpointTable } from './endpoint-tree.ts';

function documentsOf(...endpoints: Partial<PluginEndpoint>[]): ReturnType<typeof documentMounted> {
  const table = new EndpointTable();
  endpoints.forEach((facts, i) =>
    table.add({
      plugin: 'blog',
      endpoint: {
        audience: 'console',
        group: 'blog.example.com',
        version: 'v1',
        method: 'GET',
        path: '/posts',
        operationId: `op${i}`,
        ...facts,
      },
    }),
  );
  return documentMounted(table);
}

const text: JsonSchema = { type: 'string' };

describe('the documents', () => {
  test('exist for the audiences that have endpoints', () => {
    expect(documentsOf()).toEqual([]);
    expect(
      documentsOf({ audience: 'public' }, {}, { path: '/other', method: 'POST' }).map(({ audience, paths }) => [
        audience,
        Object.keys(paths),
      ]),
    ).toEqual([
      ['console', ['/apis/console.api.blog.example.com/v1/posts', '/apis/console.api.blog.example.com/v1/other']],
      ['public', ['/apis/api.blog.example.com/v1/posts']],
    ]);
  });

  test('show an operation with its schemas', () => {
    const body: JsonSchema = { type: 'object', properties: { when: { type: 'string', format: 'date-time' } } };
    const [document] = documentsOf({
      method: 'PUT',
      path: '/posts/{name}/publication/{part}',
      operationId: 'publishPost',
      summary: 'Publish a post',
      description: 'At once, or later.',
      params: { type: 'object', properties: { name: { type: 'string', maxLength: 10, description: 'Of the post.' } } },
      query: {
        type: 'object',
        required: ['loud'],
        properties: { loud: { type: 'boolean' }, tags: { type: 'array', items: text } },
      },
      body,
      response: text,
    });
    expect(document!.paths['/apis/console.api.blog.example.com/v1/posts/{name}/publication/{part}']).toEqual({
      put: {
        operationId: 'blog.publishPost',
        summary: 'Publish a post',
        description: 'At once, or later.',
        tags: ['blog.example.com/v1'],
        parameters: [
          {
            name: 'name',
            in: 'path',
            required: true,
            description: 'Of the post.',
            schema: { type: 'string', maxLength: 10, description: 'Of the post.' },
          },
          { name: 'part', in: 'path', required: true, schema: text },
          { name: 'loud', in: 'query', required: true, schema: { type: 'boolean' } },
          { name: 'tags', in: 'query', schema: { type: 'array', items: text } },
        ],
        requestBody: { required: true, content: { 'application/json': { schema: body } } },
        responses: {
          200: { description: 'The answer.', content: { 'application/json': { schema: text } } },
          ...Object.fromEntries(
            [400, 401, 403, 404, 413, 415, 422, 429, 503, 504].map((code) => [
              code,
              { $ref: `#/components/responses/Failure${code}` },
            ]),
          ),
        },
      },
    });
  });

  test('say that a public endpoint needs no credential', () => {
    expect(documentsOf({ audience: 'public' })[0]!.paths['/apis/api.blog.example.com/v1/posts']).toEqual({
      get: {
        operationId: 'blog.op0',
        tags: ['blog.example.com/v1'],
        security: [],
        responses: {
          '2XX': { description: 'Done.' },
          ...Object.fromEntries(
            [400, 401, 404, 429, 503, 504].map((code) => [code, { $ref: `#/components/responses/Failure${code}` }]),
          ),
        },
      },
    });
  });

  test.each<[string, unknown]>([
    ['refers to itself', { type: 'object', properties: { child: { $ref: '#' } } }],
    ['has a name of its own', { $id: 'https://elsewhere.invalid/x', type: 'string' }],
    ['is too deep', JSON.parse(`${'{"items":'.repeat(200)}{}${'}'.repeat(200)}`)],
    ['is none', 7],
  ])('show any value for a schema that %s', (_reason, response) => {
    const [document] = documentsOf({ response: response as JsonSchema });
    expect(document!.paths['/apis/console.api.blog.example.com/v1/posts']).toMatchObject({
      get: { responses: { 200: { content: { 'application/json': { schema: {} } } } } },
    });
  });
});
