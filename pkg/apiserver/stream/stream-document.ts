import type { JsonObject } from '#pkg/apimachinery/index';
import { streamModel } from '#pkg/apis/index';
import type { EndpointDocument } from '../openapi/endpoint-documents.ts';
import { failureResponses } from '../openapi/reference-components.ts';

const { group, names, storageVersion, versions } = streamModel;

/** Streams in the API reference. */
export const streamDocument: EndpointDocument = {
  audience: 'console',
  paths: {
    [`/apis/${group}/${storageVersion}/${names.plural}`]: {
      post: {
        operationId: 'streams.create',
        summary: 'Watch several resources in one answer',
        description:
          'Each line is a WatchEvent with the id of its subscription. An ERROR ends its subscription alone; code 410 means to list again. To resume, send the subscriptions again with the smallest revision that each of them has reached.',
        tags: [`${group}/${storageVersion}`],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: versions[0]!.schema as unknown as JsonObject } },
        },
        responses: {
          '200': {
            description: 'The events, one JSON document a line; an empty line keeps the connection alive.',
            content: {
              'application/json': {
                schema: {
                  allOf: [
                    { $ref: '#/components/schemas/WatchEvent' },
                    { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
                  ],
                },
              },
            },
          },
          ...failureResponses(400, 401, 403, 406, 413, 415, 422, 429, 503),
        },
      },
    },
  },
};
