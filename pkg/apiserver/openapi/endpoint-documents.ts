import type { JsonObject } from '#pkg/apimachinery/index';
import type { EndpointAudience } from '#pkg/apis/index';

/** A plugin's documentation of its mounted endpoints. */
export interface EndpointDocument {
  readonly audience: EndpointAudience;
  /**
   * OpenAPI 3.1 path items by full path (`/apis/api.blog.example.com/v1/posts`); they may refer to the components of
   * the reference (`Status`, `Failure404`...).
   */
  readonly paths: Readonly<Record<string, JsonObject>>;
}

/** The interface through which mounted endpoints get into the reference. */
export interface EndpointDocuments {
  documents(): Iterable<EndpointDocument>;
  /** Increases with every change of `documents()`. */
  readonly generation: number;
}

export const noEndpointDocuments: EndpointDocuments = { documents: () => [], generation: 0 };

const plainText: JsonObject = { 'text/plain': { schema: { type: 'string' } } };

/** The server's own open endpoints. */
export const ownEndpoints: EndpointDocument = {
  audience: 'public',
  paths: {
    '/livez': probe('isLive', 'Does the process work?'),
    '/readyz': probe('isReady', 'Should requests be sent here?'),
    '/version': {
      get: {
        operationId: 'getVersion',
        summary: 'The version of the server, and the one of Kubernetes it speaks like',
        tags: ['server'],
        security: [],
        responses: {
          '200': {
            description: 'The version.',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['gitVersion', 'svcVersion'],
                  properties: { gitVersion: { type: 'string' }, svcVersion: { type: 'string' } },
                },
              },
            },
          },
        },
      },
    },
  },
};

function probe(operationId: string, summary: string): JsonObject {
  return {
    get: {
      operationId,
      summary,
      tags: ['server'],
      security: [],
      parameters: [
        {
          name: 'verbose',
          in: 'query',
          description: 'Lists the checks.',
          allowEmptyValue: true,
          schema: { type: 'string' },
        },
        {
          name: 'exclude',
          in: 'query',
          description: 'A check that is left out of the verdict.',
          schema: { type: 'array', items: { type: 'string' } },
        },
      ],
      responses: {
        '200': { description: 'Yes.', content: plainText },
        '503': { description: 'No.', content: plainText },
      },
    },
  };
}
