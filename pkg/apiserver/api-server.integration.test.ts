import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Router } from 'express';
import { newUnauthorized } from '#pkg/apimachinery/index';
import type { EndpointGroup } from '#pkg/http/index';
import { posts, startReplica, startTestApi, type TestApi } from './handlers/start-test-api.ts';

let api: TestApi;
const groups = new Set<EndpointGroup>();

beforeAll(async () => {
  api = await startTestApi({
    // The name is the credential here; `reader` may only read.
    authenticator: {
      authenticateRequest: ({ headers }) => {
        if (headers['x-user'] === 'nobody') throw newUnauthorized();
        return Promise.resolve(
          headers['x-user'] === undefined
            ? undefined
            : { name: String(headers['x-user']), uid: '', groups: ['system:authenticated'] },
        );
      },
    },
    authorizer: {
      authorize: ({ user, verb }) =>
        Promise.resolve({ allowed: user.name !== 'reader' || ['get', 'list', 'watch'].includes(verb), reason: '' }),
    },
    endpointGroups: groups,
    readyz: [{ name: 'registry', check: () => Promise.resolve() }],
  });
});

afterAll(() => api?.stop());

describe('API server', () => {
  test.each([
    ['a public probe', '/livez', undefined, 200],
    ['the public readiness probe', '/readyz', undefined, 200],
    ['the public version', '/version', undefined, 200],
    ['metrics without a user', '/metrics', undefined, 401],
    ['metrics with a user', '/metrics', 'someone', 200],
    ['the API without a user', posts, undefined, 401],
    ['a probe with an invalid credential', '/readyz', 'nobody', 200],
    ['the version with an invalid credential', '/version', 'nobody', 200],
    ['discovery without a user', '/apis', undefined, 401],
    ['discovery with a user', '/apis', 'someone', 200],
    ['an unknown path without a user', '/nope', undefined, 401],
    ['an unknown path with a user', '/nope', 'someone', 404],
  ])('%s: %s as %s is a %i', async (_reason, path, user, status) => {
    const answer = await api.call('GET', path, { headers: user === undefined ? {} : { 'x-user': user } });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('x-request-id')).not.toBeNull();
    expect(answer.headers.has('www-authenticate')).toBe(status === 401);
  });

  test('names its health checks', async () => {
    const { text } = await api.call('GET', '/readyz?verbose');
    expect(text).toBe('[+]database ok\n[+]shutdown ok\n[+]registry ok\nreadyz check passed\n');
  });

  test('authorizes a request before it reads the body', async () => {
    const answer = await api.call('POST', posts, { body: '{', headers: { 'x-user': 'reader' } });
    expect(answer).toMatchObject({
      status: 403,
      body: {
        message:
          'posts.blog.example.com is forbidden: User "reader" cannot create resource "posts" in API group "blog.example.com" at the cluster scope',
      },
    });
  });

  test('serves a mounted endpoint group before anything else at its path', async () => {
    const path = '/apis/api.blog.example.com/v1';
    expect((await api.call('GET', `${path}/hello`)).status).toBe(401);
    const router = Router();
    router.get('/hello', (_request, response) => void response.json({ hello: 'world' }));
    const group: EndpointGroup = { prefix: path, router, isOpen: true };
    groups.add(group);
    expect(await api.call('GET', `${path}/hello`)).toMatchObject({ status: 200, body: { hello: 'world' } });
    expect((await api.call('GET', `${path}/hello`, { headers: { 'x-user': 'nobody' } })).status).toBe(401);
    expect((await api.call('GET', `${path}/other`)).status).toBe(404);
    groups.delete(group);
    expect((await api.call('GET', `${path}/hello`)).status).toBe(401);
  });

  test('applies the request limits to every group except one with its own limits', async () => {
    const names = ['/limited', '/unlimited'] as const;
    const waiting: (() => void)[] = [];
    const limited = names.map((prefix): EndpointGroup => {
      const router = Router();
      router.get('/', (_request, response) => void waiting.push(() => response.end('done')));
      return { prefix, router, isOpen: true, isUnlimited: prefix === '/unlimited' };
    });
    const one = await startReplica(api.store, {
      http: { host: '127.0.0.1', port: 0, maxInFlight: { total: 2, perUser: 2, maxWaitMs: 0 } },
      endpointGroups: limited,
    });
    const [some, all] = names.map((path) => Array.from({ length: 5 }, () => one.call('GET', path)));
    const refused = await Promise.any(some!);
    expect(refused.status).toBe(429);
    while (waiting.length < 7) await new Promise((resolve) => setImmediate(resolve));
    for (const answer of waiting) answer();
    expect((await Promise.all(some!)).map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 200, 429, 429, 429,
    ]);
    expect((await Promise.all(all!)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    await one.stop();
  });
});
