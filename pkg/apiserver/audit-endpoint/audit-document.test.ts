import { expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { auditDocument } from './audit-document.ts';
import { auditPath, queryParameters } from './audit-endpoint.ts';

test('the reference has every parameter of the list, and no other', () => {
  const { parameters } = auditDocument.paths[auditPath]!['get'] as { parameters: JsonObject[] };
  expect(parameters.map(({ name }) => name)).toEqual(queryParameters);
});
