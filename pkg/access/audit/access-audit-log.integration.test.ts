import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AuditPosition, AuditQuery, StoredAuditRecord } from '#pkg/audit/index';
import { startAccessTest, type AccessTest } from '../accesstest/start-access-test.ts';
import { AccessAuditLog } from './access-audit-log.ts';

let server: AccessTest;
let log: AccessAuditLog;
let mia: string;

beforeAll(async () => {
  server = await startAccessTest({ operations: () => [] });
  log = new AccessAuditLog(server.access.pool);
  mia = await server.addUser({ username: 'mia' });
  await server.access.pool.query('TRUNCATE access.login_logs, access.operate_logs');
  for (const isSuccess of [false, true])
    await server.audit.recordLogin({
      username: 'mia',
      userId: mia,
      type: 'web',
      address: '192.0.2.1',
      userAgent: 'Browser',
      isSuccess,
      ...(isSuccess ? {} : { reason: 'password_failed' }),
    });
  await server.audit.recordOperation({
    actor: { id: mia, username: 'mia' },
    action: 'create',
    resourceType: 'user',
    resource: 'ben',
    detail: 'name, email',
    address: '192.0.2.1',
    credentialId: 'SESSION=s1',
    requestId: 'request-1',
  });
  for (let i = 0; i < 12; i += 1)
    await server.audit.recordOperation({
      actor: undefined,
      action: 'rotate',
      resourceType: 'session',
      resource: `${i}`,
    });
  // Rows of one time are told apart by their ids, the tenth after the ninth.
  await server.access.pool.query(
    "UPDATE access.operate_logs SET datetime = '2026-01-31T09:30:00Z' WHERE action = 'rotate'",
  );
});
afterAll(() => server?.stop());

async function list(query: Partial<AuditQuery> = {}): Promise<StoredAuditRecord[]> {
  const found: StoredAuditRecord[] = [];
  for (let after: AuditPosition | undefined; ;) {
    const page = await log.list({ selectors: {}, limit: 5, ...query, ...(after === undefined ? {} : { after }) });
    found.push(...page.records);
    if (page.next === undefined) return found;
    after = page.next;
  }
}

test('rows are events of the platform form', async () => {
  const [operation, success, failure] = await list({ selectors: { username: 'mia' } });
  expect(JSON.parse(operation!.event)).toEqual({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: 'request-1',
    stage: 'ResponseComplete',
    requestURI: '',
    verb: 'create',
    user: { username: 'mia', uid: mia, extra: { 'authentication.kubernetes.io/credential-id': ['SESSION=s1'] } },
    sourceIPs: ['192.0.2.1'],
    objectRef: { resource: 'user', name: 'ben', apiGroup: 'access.svc.run' },
    responseStatus: { metadata: {}, code: 200 },
    requestReceivedTimestamp: expect.any(String),
    stageTimestamp: expect.any(String),
    annotations: { 'svc.run/detail': 'name, email' },
  });
  expect([success!.verb, success!.code, success!.resource]).toEqual(['login', 201, 'login.access.svc.run']);
  expect(JSON.parse(failure!.event)).toMatchObject({
    userAgent: 'Browser',
    responseStatus: { status: 'Failure', code: 400 },
    annotations: { 'svc.run/detail': 'password_failed' },
  });
});

test('pages have each row once, the newest first', async () => {
  const all = await list();
  expect(all.map(({ name }) => name)).toEqual([
    'ben',
    'mia',
    'mia',
    ...Array.from({ length: 12 }, (_, i) => `${11 - i}`),
  ]);
});

test.each<{ query: Partial<AuditQuery>; count: number }>([
  { query: { selectors: { verb: 'login' } }, count: 2 },
  { query: { selectors: { code: 400 } }, count: 1 },
  { query: { selectors: { resource: 'user.access.svc.run' } }, count: 1 },
  { query: { selectors: { resource: 'user' } }, count: 0 },
  { query: { selectors: { name: 'ben', id: 'request-1' } }, count: 1 },
  { query: { selectors: { namespace: '' } }, count: 15 },
  { query: { selectors: { namespace: 'team' } }, count: 0 },
  { query: { selectors: { username: "'; DROP TABLE access.users; --" } }, count: 0 },
  { query: { to: Date.parse('2026-01-31T09:30:00Z') }, count: 0 },
  { query: { from: Date.parse('2026-01-31T09:30:00Z'), to: Date.parse('2026-02-01T09:30:00Z') }, count: 12 },
])('$query selects $count', async ({ query, count }) => {
  expect(await list(query)).toHaveLength(count);
});
