import { describe, expect, test } from '@jest/globals';
import { formatMicroTime, newAuditEvent, type AuditedRequest, type AuditEventOptions } from './audit-event.ts';

const receivedAt = Date.parse('2026-01-31T09:30:00.123Z');
const request: AuditedRequest = {
  auditID: '5d7e',
  requestURI: '/apis/blog.example.com/v1/namespaces/default/posts/a/status?dryRun=All',
  verb: 'update',
  user: { name: 'ada', uid: 'u1', groups: ['editors', 'system:authenticated'], extra: { 'a/b': ['c', 'd\0'] } },
  impersonatedUser: { name: 'bob', uid: '', groups: [] },
  sourceIPs: ['10.0.0.1', '10.0.0.2'],
  userAgent: 'kubectl/v1.34',
  group: 'blog.example.com',
  version: 'v1',
  resource: 'posts',
  subresource: 'status',
  namespace: 'default',
  name: 'a',
  receivedAt,
};
const options: AuditEventOptions = { level: 'Metadata', stage: 'ResponseComplete', at: receivedAt + 4.5, code: 200 };
const bare: AuditedRequest = {
  ...request,
  requestURI: '/version',
  verb: 'get',
  user: { name: 'ada', uid: '', groups: [] },
  impersonatedUser: undefined,
  sourceIPs: [],
  userAgent: '',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
};

describe('newAuditEvent', () => {
  test('has every field of a request', () => {
    const object = { uid: 'o1', resourceVersion: '7' };
    expect(newAuditEvent(request, { ...options, object, annotations: { 'a/b': 'c' } })).toStrictEqual({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: '5d7e',
      stage: 'ResponseComplete',
      requestURI: '/apis/blog.example.com/v1/namespaces/default/posts/a/status?dryRun=All',
      verb: 'update',
      user: {
        username: 'ada',
        uid: 'u1',
        groups: ['editors', 'system:authenticated'],
        extra: { 'a/b': ['c', 'd '] },
      },
      impersonatedUser: { username: 'bob' },
      sourceIPs: ['10.0.0.1', '10.0.0.2'],
      userAgent: 'kubectl/v1.34',
      objectRef: {
        resource: 'posts',
        namespace: 'default',
        name: 'a',
        uid: 'o1',
        apiGroup: 'blog.example.com',
        apiVersion: 'v1',
        resourceVersion: '7',
        subresource: 'status',
      },
      responseStatus: { metadata: {}, code: 200 },
      requestReceivedTimestamp: '2026-01-31T09:30:00.123000Z',
      stageTimestamp: '2026-01-31T09:30:00.127500Z',
      annotations: { 'a/b': 'c' },
    });
  });

  test('leaves out what is empty', () => {
    const { code: _code, ...received } = options;
    expect(newAuditEvent(bare, { ...received, stage: 'RequestReceived', annotations: {} })).toStrictEqual({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: '5d7e',
      stage: 'RequestReceived',
      requestURI: '/version',
      verb: 'get',
      user: { username: 'ada' },
      requestReceivedTimestamp: '2026-01-31T09:30:00.123000Z',
      stageTimestamp: '2026-01-31T09:30:00.127500Z',
    });
  });

  test('names an object whose name the server generated', () => {
    const create = { ...request, name: '', subresource: '' };
    expect(newAuditEvent(create, options).objectRef).not.toHaveProperty('name');
    expect(newAuditEvent(create, { ...options, object: { name: 'a-x7k2p' } }).objectRef?.name).toBe('a-x7k2p');
  });

  test.each([
    [399, {}],
    [400, { status: 'Failure' }],
  ])('status of code %i', (code, status) => {
    const { responseStatus } = newAuditEvent(request, { ...options, code });
    expect(responseStatus).toStrictEqual({ metadata: {}, ...status, code });
  });

  test('redacts objects and URI', () => {
    const object = { metadata: { managedFields: [] }, spec: { password: 'hunter2' } };
    const event = newAuditEvent(
      { ...request, requestURI: '/api?token=hunter2' },
      { ...options, level: 'RequestResponse', requestObject: object, responseObject: object, omitManagedFields: true },
    );
    const expected = { metadata: {}, spec: { password: '[redacted]' } };
    expect([event.requestObject, event.responseObject]).toEqual([expected, expected]);
    expect(event.requestURI).toBe('/api?token=[redacted]');
  });

  test('has no text that PostgreSQL refuses, and no line break outside of objects', () => {
    const bad = 'a\0b\nc\u001b\ud800d\u{1f600}';
    const user = { name: bad, uid: bad, groups: [bad] };
    const texts = { auditID: bad, requestURI: bad, verb: bad, userAgent: bad, group: bad, version: bad, resource: bad };
    const names = { subresource: bad, namespace: bad, name: bad };
    const event = newAuditEvent(
      { ...request, ...texts, ...names, user, impersonatedUser: user, sourceIPs: [bad] },
      {
        ...options,
        level: 'RequestResponse',
        object: { uid: bad, resourceVersion: bad },
        requestObject: { [bad]: bad },
        responseObject: bad,
        annotations: { [bad]: bad },
      },
    );
    const { requestObject, responseObject, ...rest } = event;
    expect(JSON.stringify(rest)).not.toMatch(/\\[nu]/);
    expect(JSON.stringify(rest).split('a b c  d\u{1f600}')).toHaveLength(22);
    expect([requestObject, responseObject]).toEqual([
      { 'a b\nc\u001b d\u{1f600}': 'a b\nc\u001b d\u{1f600}' },
      'a b\nc\u001b d\u{1f600}',
    ]);
  });

  test('cuts the user agent at 256 characters, also within a surrogate pair', () => {
    const { userAgent } = newAuditEvent({ ...request, userAgent: `${'a'.repeat(255)}\u{1f600}b` }, options);
    expect(userAgent).toBe(`${'a'.repeat(255)} `);
  });
});

test.each([
  ['2026-01-31T09:30:00.123Z', 0, '2026-01-31T09:30:00.123000Z'],
  ['2026-01-31T09:30:00.000Z', 0.001, '2026-01-31T09:30:00.000001Z'],
  ['2026-01-31T09:30:00.123Z', 0.456, '2026-01-31T09:30:00.123456Z'],
  ['2026-01-31T09:30:00.999Z', 0.9999, '2026-01-31T09:30:01.000000Z'],
  ['1970-01-01T00:00:00.000Z', 0, '1970-01-01T00:00:00.000000Z'],
  ['1970-01-01T00:00:00.000Z', -0.25, '1969-12-31T23:59:59.999750Z'],
])('formatMicroTime(%s + %d ms)', (time, ms, expected) => {
  expect(formatMicroTime(Date.parse(time) + ms)).toBe(expected);
});
