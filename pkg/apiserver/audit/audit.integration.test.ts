import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { WebSocket } from 'ws';
import { StatusError, type JsonObject } from '#pkg/apimachinery/index';
import { AuditPolicy, parseAuditPolicy } from '#pkg/audit/index';
import { withCredentialId } from '#pkg/identity/index';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import {
  newTestPost,
  posts,
  startReplica,
  startTestApi,
  type TestApi,
  type TestReplica,
} from '../handlers/start-test-api.ts';
import { auditEndpoint, auditPath } from '../audit-endpoint/audit-endpoint.ts';
import { Auditor } from './auditor.ts';

interface Event extends JsonObject {
  requestURI: string;
  verb: string;
  stage: string;
  user: { username: string; extra?: Record<string, string[]> };
  impersonatedUser?: { username: string };
  objectRef?: { name?: string; resourceVersion?: string; subresource?: string };
  responseStatus: { code: number };
  annotations?: Record<string, string>;
}

const everything = parseAuditPolicy(
  'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: RequestResponse, omitStages: [RequestReceived] }]',
);
let home: TestApi;
let auditor: Auditor;
let api: TestReplica;
let user: string;

beforeAll(async () => {
  home = await startTestApi();
});
afterAll(() => home?.stop());

let written: Event[];
let isThrottled = false;
async function serve(policy: AuditPolicy): Promise<void> {
  written = [];
  const output = (event: string): void => void written.push(JSON.parse(event) as Event);
  auditor = new Auditor({ policy, log: home.store.audit, logger: pino({ level: 'silent' }), output });
  api = await startReplica(home.store, {
    auditor,
    endpointGroups: [auditEndpoint(home.store.audit)],
    throttle: { take: () => Promise.resolve(isThrottled ? 7 : undefined) },
    authenticator: {
      authenticateRequest: (request) => {
        const name = String(request.headers['x-user']);
        if (name === 'wrong') return Promise.reject(new StatusError(401, 'Unauthorized', 'Unauthorized'));
        const found = { name, uid: 'u-1', groups: ['system:authenticated'] };
        const credentialId = request.headers['x-credential-id'];
        return Promise.resolve(typeof credentialId === 'string' ? withCredentialId(found, credentialId) : found);
      },
    },
    authorizer: {
      authorize: ({ verb, path }) =>
        Promise.resolve({ allowed: verb !== 'delete' || !path.endsWith('/forbidden'), reason: '' }),
    },
  });
}

let users = 0;
beforeEach(() => {
  users += 1;
  user = `user-${users}`;
});

const call = (
  method: string,
  path: string,
  { body, headers }: { body?: unknown; headers?: Record<string, string> } = {},
): ReturnType<TestReplica['call']> =>
  api.call(method, path, { ...(body === undefined ? {} : { body }), headers: { 'x-user': user, ...headers } });

/** The events of this test's user, the oldest first, once everything is written. */
async function events(query = ''): Promise<Event[]> {
  await auditor.stop();
  const { status, body } = await call('GET', `${auditPath}?user=${user}${query}`);
  expect(status).toBe(200);
  return (body as { items: Event[] }).items.toReversed();
}

describe('by the default policy', () => {
  beforeAll(() => serve(AuditPolicy.default));
  afterAll(() => api.stop());

  test('each write has one event, with the revision, the id of the answer and no content', async () => {
    const name = `${user}-a`;
    const created = await call('POST', posts, { body: newTestPost(name), headers: { 'user-agent': 'kubectl/v1' } });
    const path = `${posts}/${name}`;
    const put = await call('PUT', path, { body: newTestPost(name, { title: 'b' }) });
    const patched = await call('PATCH', `${path}/status`, {
      body: { status: { x: 1 } },
      headers: { 'Content-Type': 'application/merge-patch+json' },
    });
    const deleted = await call('DELETE', path);
    const answers = [created, put, patched, deleted];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200]);
    const found = await events();
    expect(found.map(({ verb, responseStatus }) => [verb, responseStatus.code])).toEqual([
      ['create', 201],
      ['update', 200],
      ['patch', 200],
      ['delete', 200],
    ]);
    expect(found.map(({ auditID }) => auditID)).toEqual(answers.map(({ headers }) => headers.get('audit-id')));
    expect(found.slice(0, 3).map(({ objectRef }) => objectRef!.resourceVersion)).toEqual(
      answers.slice(0, 3).map(({ body }) => body.metadata.resourceVersion),
    );
    expect(found[0]).toEqual({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: expect.any(String),
      stage: 'ResponseComplete',
      requestURI: posts,
      verb: 'create',
      user: { username: user, uid: 'u-1', groups: ['system:authenticated'] },
      sourceIPs: ['127.0.0.1'],
      userAgent: 'kubectl/v1',
      objectRef: {
        resource: 'posts',
        name,
        uid: created.body.metadata.uid,
        apiGroup: 'blog.example.com',
        apiVersion: 'v1',
        resourceVersion: created.body.metadata.resourceVersion,
      },
      responseStatus: { metadata: {}, code: 201 },
      requestReceivedTimestamp: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
      stageTimestamp: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
    });
    expect(found[2]!.objectRef!.subresource).toBe('status');
  });

  test('a generated name is in the event', async () => {
    const { body } = await call('POST', posts, { body: newTestPost(undefined, {}, { generateName: 'made-' }) });
    expect((await events()).map(({ objectRef }) => objectRef!.name)).toEqual([body.metadata.name]);
  });

  test('an impersonated user is named beside the one who acts', async () => {
    await call('POST', posts, { body: newTestPost(`${user}-a`), headers: { 'impersonate-user': 'mia' } });
    expect((await events()).map(({ impersonatedUser }) => impersonatedUser!.username)).toEqual(['mia']);
  });

  test('each object of a deleted collection has a row, under one id', async () => {
    await Promise.all(
      [1, 2, 3].map((i) => call('POST', posts, { body: newTestPost(`${user}-${i}`, {}, { labels: { of: user } }) })),
    );
    const { headers } = await call('DELETE', `${posts}?labelSelector=of%3D${user}`);
    const deleted = (await events()).filter(({ verb }) => verb === 'deletecollection');
    expect(deleted.map(({ objectRef }) => objectRef!.name!).toSorted()).toEqual([1, 2, 3].map((i) => `${user}-${i}`));
    expect(new Set(deleted.map(({ auditID }) => auditID))).toEqual(new Set([headers.get('audit-id')]));
  });

  test('refused, dry, repeated and empty writes have an event without a revision; reads have none', async () => {
    const name = `${user}-a`;
    const path = `${posts}/${name}`;
    const keyed = { 'idempotency-key': user };
    await call('POST', posts, { body: newTestPost(name), headers: keyed });
    await call('POST', posts, { body: newTestPost(name), headers: keyed });
    await call('POST', posts, { body: newTestPost(name) });
    await call('POST', posts, { body: newTestPost(`${name}2`, { title: 1 }) });
    await call('POST', `${posts}?dryRun=All`, { body: newTestPost(`${name}3`) });
    await call('PUT', path, { body: newTestPost(name) });
    await call('DELETE', `${posts}/none`);
    await call('GET', path);
    const found = await events();
    const codes = found.map(({ verb, responseStatus: { code }, objectRef }) =>
      objectRef?.resourceVersion === undefined ? `${verb} ${code}` : `${verb} ${code} with a revision`,
    );
    expect(codes[0]).toBe('create 201 with a revision');
    // The queue is written at once, so that its rows have no order.
    expect(codes.slice(1).toSorted()).toEqual(
      ['create 201', 'create 409', 'create 422', 'create 201', 'update 200', 'delete 404'].toSorted(),
    );
  });

  test('the output gets the events of the list', async () => {
    await call('POST', posts, { body: newTestPost(`${user}-a`) });
    await call('POST', posts, { body: newTestPost(`${user}-a`) });
    for (let i = 0; i < 3; i += 1) await call('DELETE', `${posts}/forbidden`);
    const listed = await events();
    const own = written.filter(({ user: { username } }) => username === user);
    // The database sets the time of a write's row.
    const comparable = (event: Event): string => JSON.stringify({ ...event, stageTimestamp: undefined });
    expect(own.map(comparable).toSorted()).toEqual(listed.map(comparable).toSorted());
    expect(own.map(({ responseStatus: { code } }) => code)).toEqual([201, 409, 403]);
    expect(own[0]!.objectRef!.resourceVersion).toMatch(/^\d+$/);
  });

  test('a name of any length and characters is kept, cut and printable', async () => {
    expect((await call('DELETE', `${posts}/${'x'.repeat(2000)}`)).status).toBeGreaterThanOrEqual(400);
    await call('DELETE', `${posts}/a%C2%85b`);
    expect((await events()).map(({ objectRef }) => objectRef?.name ?? '').toSorted()).toEqual(
      ['a b', 'x'.repeat(512)].toSorted(),
    );
  });

  test('a refused write within the process is of its user, also after a 429', async () => {
    const audit = auditor.begin({
      id: `${user}-1`,
      users: { user: { name: user, uid: '', groups: [] } },
      info: {
        isResourceRequest: true,
        path: posts,
        verb: 'create',
        group: 'blog.example.com',
        version: 'v1',
        namespace: '',
        resource: 'posts',
        subresource: '',
        name: '',
      },
      uri: posts,
      addresses: [],
    });
    auditor.end(audit, { code: 429 });
    expect((await events()).map(({ verb, responseStatus: { code } }) => `${verb} ${code}`)).toEqual(['create 429']);
  });

  test('too many requests of a user are one row, which names the user and the address', async () => {
    isThrottled = true;
    for (let i = 0; i < 3; i += 1) expect((await call('GET', posts)).status).toBe(429);
    isThrottled = false;
    expect(await events('&code=429')).toMatchObject([
      { user: { username: user }, sourceIPs: ['127.0.0.1'], annotations: { 'svc.run/count': '3' } },
    ]);
  });

  test('equal refusals within a minute are one row with their number', async () => {
    for (let i = 0; i < 3; i += 1) expect((await call('DELETE', `${posts}/forbidden`)).status).toBe(403);
    for (let i = 0; i < 2; i += 1)
      expect((await call('DELETE', `${posts}/forbidden`, { headers: { 'x-user': 'wrong' } })).status).toBe(401);
    expect(
      (await events()).map(({ verb, responseStatus, annotations }) => [verb, responseStatus.code, annotations]),
    ).toEqual([['delete', 403, { 'svc.run/count': '3' }]]);
    const { body } = await call('GET', `${auditPath}?code=401`);
    expect(body.items[0]).toMatchObject({
      user: { username: 'system:anonymous' },
      sourceIPs: ['127.0.0.1'],
      annotations: { 'svc.run/count': '2' },
    });
  });
});

describe('the credential', () => {
  beforeAll(() => serve(everything));
  afterAll(() => api.stop());

  test('is named in each event, and refusals of two credentials are two events', async () => {
    const by = (credentialId: string): { headers: Record<string, string> } => ({
      headers: { 'x-credential-id': credentialId },
    });
    const extra = { 'authentication.kubernetes.io/credential-id': ['PAT=a'] };
    expect((await call('GET', posts, by('PAT=a'))).status).toBe(200);
    for (const credentialId of ['PAT=a', 'PAT=b', 'PAT=b'])
      expect((await call('DELETE', `${posts}/forbidden`, by(credentialId))).status).toBe(403);
    const found = await events();
    expect(found[0]).toMatchObject({ user: { username: user, extra } });
    expect(
      (await events('&code=403')).map(({ user: { extra: told }, annotations }) => [
        told?.['authentication.kubernetes.io/credential-id'],
        annotations?.['svc.run/count'],
      ]),
    ).toEqual([
      [['PAT=a'], '1'],
      [['PAT=b'], '2'],
    ]);
  });
});

describe('by a policy that keeps everything', () => {
  beforeAll(() => serve(everything));
  afterAll(() => api.stop());

  test('a write has what was sent and what was stored, without secrets', async () => {
    const sent = newTestPost(`${user}-a`, { title: 'a' }, { annotations: { 'db-password': 'hunter2' } });
    const { body } = await call('POST', `${posts}?token=abc`, { body: sent });
    const [event] = await events();
    expect(event).toMatchObject({
      level: 'RequestResponse',
      requestURI: `${posts}?token=[redacted]`,
      requestObject: { metadata: { annotations: { 'db-password': '[redacted]' } }, spec: { title: 'a' } },
      responseObject: { metadata: { uid: body.metadata.uid, resourceVersion: body.metadata.resourceVersion } },
    });
    expect(JSON.stringify(event)).not.toContain('hunter2');
  });

  test('an event above 64 KiB is kept without its objects', async () => {
    await call('POST', posts, { body: newTestPost(`${user}-a`, { text: 'x'.repeat(70_000) }) });
    const [event] = await events();
    expect(event!.annotations).toEqual({ 'audit.k8s.io/truncated': 'true' });
    expect(event).not.toHaveProperty('requestObject');
  });

  test('a watch has its event when it begins, a read when it ends, and a probe none', async () => {
    const abort = new AbortController();
    const watch = await fetch(`${api.url}${posts}?watch=true`, { headers: { 'x-user': user }, signal: abort.signal });
    expect(watch.status).toBe(200);
    await call('GET', posts);
    await call('GET', '/livez');
    await call('GET', `${posts}?watch=true&resourceVersion=x`);
    const found = (await events()).filter(({ requestURI }) => !requestURI.startsWith(auditPath));
    expect(
      found.map(({ verb, stage, responseStatus }) => `${verb} ${stage} ${responseStatus.code}`).toSorted(),
    ).toEqual(['list ResponseComplete 200', 'watch ResponseComplete 400', 'watch ResponseStarted 200']);
    abort.abort();
  });

  test('a watch over WebSocket has one too, without the token of its subprotocol', async () => {
    const token = Buffer.from('pat_secret').toString('base64url');
    const socket = new WebSocket(
      `${api.url.replace('http', 'ws')}${posts}?watch=true`,
      [`base64url.bearer.authorization.k8s.io.${token}`, 'base64.binary.k8s.io'],
      { headers: { 'x-user': user } },
    );
    await once(socket, 'open');
    const [event] = await events();
    expect(event).toMatchObject({ verb: 'watch', stage: 'ResponseStarted', responseStatus: { code: 101 } });
    expect(JSON.stringify(event)).not.toMatch(new RegExp(`pat_secret|${token}`));
    socket.terminate();
  });
});

describe('the list', () => {
  beforeAll(() => serve(AuditPolicy.default));
  afterAll(() => api.stop());

  test('pages by metadata.continue', async () => {
    for (let i = 0; i < 5; i += 1) await call('POST', posts, { body: newTestPost(`${user}-${i}`) });
    const names: string[] = [];
    let query = '&limit=2';
    for (;;) {
      const { body } = await call('GET', `${auditPath}?user=${user}${query}`);
      names.push(...(body.items as Event[]).map(({ objectRef }) => objectRef!.name!));
      if (body.metadata.continue === undefined) break;
      query = `&limit=2&continue=${body.metadata.continue}`;
    }
    expect(names).toEqual([4, 3, 2, 1, 0].map((i) => `${user}-${i}`));
  });

  test.each([
    ['?nonsense=1', /the parameter "nonsense" is not known; there are user, verb,/],
    ['?user=a&user=b', /the parameter user must be given once/],
    ['?limit=251', /the parameter limit must be a number from 1 to 250/],
    ['?limit=-1', /the parameter limit must be a number/],
    ['?code=x', /the parameter code must be a number from 0 to 599/],
    ['?from=yesterday', /the parameter from must be a time such as/],
    ['?to=2026-13-01T00:00:00Z', /the parameter to must be a time/],
    ['?continue=e30', /the parameter continue must be the metadata.continue/],
    ['?continue=%F0%9F%92%A9', /the parameter continue must be/],
    ['?name=%00', /the parameter name has at most 2048 characters, and none of them is NUL/],
    [`?name=${'x'.repeat(3000)}`, /the parameter name has at most 2048 characters/],
  ])('%s is refused with the rule', async (query, says) => {
    const { status, body } = await call('GET', `${auditPath}${query.slice(0, 4000)}`);
    expect([status, body.message]).toEqual([400, expect.stringMatching(says)]);
  });

  test('is only read', async () => {
    const { status, headers } = await call('POST', auditPath, { body: {} });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

test('a server that stops has written everything', async () => {
  await serve(AuditPolicy.default);
  auditor.start();
  await call('DELETE', `${posts}/none`);
  await pollUntil(
    async () => auditor.waiting === 0 && (await call('GET', `${auditPath}?user=${user}`)).body.items.length === 1,
  );
  await auditor.stop();
  await api.stop();
});
