import { expect, test } from '@jest/globals';
import { TrustedProxies } from '#pkg/http/index';
import type { JsonObject } from '#pkg/apimachinery/index';
import { openApiFaults } from '../openapi/openapitest/open-api-faults.ts';
import { personalTokenDocument } from './token-document.ts';
import { personalTokenEndpoints } from './token-endpoints.ts';

/** Shared components of the platform's reference. */
const components: JsonObject = {
  parameters: { name: { name: 'name', in: 'path', required: true, schema: { type: 'string' } } },
  schemas: { Status: { type: 'object' } },
  responses: Object.fromEntries(
    [400, 401, 403, 404, 409, 413, 415, 422, 429, 503].map((code) => [`Failure${code}`, { description: 'No.' }]),
  ),
};

test('it is OpenAPI 3.1 with the components of the reference', () => {
  expect(
    openApiFaults({
      openapi: '3.1.0',
      info: { title: 't', version: '1' },
      paths: { ...personalTokenDocument.paths },
      components,
    }),
  ).toEqual([]);
});

test('it has every endpoint, and no other', () => {
  const { prefix, router } = personalTokenEndpoints({ tokens: {} as never, proxies: new TrustedProxies([]) });
  const served = router.stack.map(({ route }) => {
    const methods = (route as unknown as { methods: Record<string, boolean> }).methods;
    return [
      `${prefix}${route!.path.replace(':name', '{name}')}`,
      Object.keys(methods).filter((method) => method !== '_all'),
    ];
  });
  expect(Object.entries(personalTokenDocument.paths).map(([path, item]) => [path, Object.keys(item)])).toEqual(served);
});
