import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { AccessService } from '../access-service.ts';
import { startAccessTest, type AccessTest } from '../accesstest/start-access-test.ts';
import type { Operation } from '../operations/operation.ts';
import { openKeyRing } from '../secrets/open-key-ring.ts';
import { openApiFaults } from './openapitest/open-api-faults.ts';
import { TrustedProxies } from '#pkg/http/index';

interface OperationObject {
  summary: string;
  tags: string[];
  parameters: { $ref?: string }[];
  responses: Record<string, unknown>;
}

let server: AccessTest;
let operations: readonly Operation[];
let document: JsonObject;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'whole-document-'));
  server = await startAccessTest({
    operations: async ({ access, log }) => {
      const service = new AccessService({
        database: access,
        log,
        svcVersion: '2.22.0',
        settings: {
          tokenTtlMs: 60_000,
          sessionIdleMs: 60_000,
          loginIpLimit: 100,
          maxLogins: 32,
          signatureSkewMs: 300_000,
          signatureRequiresDigest: false,
          throttle: { anonymous: 2048, user: 4096 },
          auditRetentionDays: 180,
          publicUrl: undefined,
          allowedOrigins: [],
        },
        keys: await openKeyRing(access, { dataDir: folder }),
        proxies: new TrustedProxies([]),
        platform: {
          namespaces: { ensure: () => Promise.resolve(), remove: () => Promise.resolve('removed') },
          roles: { hasRole: () => false, rolesOf: () => [] },
          isNamedByBinding: () => false,
        },
      });
      operations = service.parts.operations;
      return operations;
    },
  });
  document = (await server.send('GET', '/api/openapi.json')).json as JsonObject;
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const described = (): [string, OperationObject][] =>
  Object.entries(document['paths'] as Record<string, Record<string, unknown>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, OperationObject] => [
      `${method.toUpperCase()} ${path}`,
      operation as OperationObject,
    ]),
  );

describe('the document of the whole service', () => {
  test('is valid', () => {
    expect(openApiFaults(document)).toEqual([]);
  });

  test('describes every operation of the API', () => {
    const served = operations
      .filter(({ path }) => path.startsWith('/api/') && !path.startsWith('/api/docs/'))
      .map(({ method, path }) => `${method} ${path}`);
    expect(
      described()
        .map(([name]) => name)
        .toSorted(),
    ).toEqual(served.toSorted());
    expect(served).toEqual(
      expect.arrayContaining([
        'POST /api/v1/authentication/auth/',
        'GET /api/v1/users/users/',
        'GET /api/openapi.json',
      ]),
    );
  });

  test('shows the organization if a call needs one', () => {
    const inOne = described().flatMap(([name, { parameters }]) =>
      parameters.some(({ $ref: reference }) => reference === '#/components/parameters/Organization') ? [name] : [],
    );
    expect(inOne).toEqual(
      expect.arrayContaining([
        'GET /api/v1/users/users/',
        'POST /api/v1/users/users/',
        'GET /api/v1/orgs/orgs/current/',
        'GET /api/v1/audits/login-logs/',
        'GET /api/v1/audits/operate-logs/',
      ]),
    );
  });
});
