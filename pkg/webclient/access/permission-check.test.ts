import { beforeEach, describe, expect, test } from '@jest/globals';
import { connect, type ServerConnection } from '../connect.ts';
import type { Resource } from '../resource/resource.ts';
import type { AnyObject } from '#pkg/apimachinery/index';
import { permissionCheck } from './permission-check.ts';

const model = { group: 'a.example.com', version: 'v1', kind: 'Post', plural: 'posts', namespaced: true } as const;

describe('a permission', () => {
  let asked: object[];
  let answer: () => Response;
  let server: ServerConnection;
  let posts: Resource<AnyObject>;
  beforeEach(() => {
    asked = [];
    answer = () => Response.json({ status: { allowed: true, reason: 'a role says so' } });
    server = connect({
      url: 'http://127.0.0.1:1',
      fetch: (url, init) => {
        if ((url as string).includes('/sessions/')) return Promise.resolve(new Response(null, { status: 204 }));
        asked.push(JSON.parse(init?.body as string).spec.resourceAttributes);
        return Promise.resolve(answer());
      },
    });
    posts = server.resource({ ...model, hasStatusSubresource: false }, { namespace: 'default' });
  });

  /** Subscribes, and resolves at the first change. */
  const changed = (check: ReturnType<typeof permissionCheck>): Promise<() => void> =>
    new Promise((resolve) => {
      const end = check.subscribe(() => resolve(end));
    });

  test('is asked once for all who are interested, and not again while it is fresh', async () => {
    const check = permissionCheck(posts, 'delete', { name: 'a' });
    expect(check.current).toEqual({ isAllowed: undefined });
    const ends = [check.subscribe(() => undefined), await changed(permissionCheck(posts, 'delete', { name: 'a' }))];
    for (const end of ends) end();
    permissionCheck(posts, 'delete', { name: 'a' }).subscribe(() => undefined)();
    expect(check.current).toEqual({ isAllowed: true, reason: 'a role says so' });
    expect(asked).toEqual([
      { verb: 'delete', group: 'a.example.com', resource: 'posts', subresource: '', namespace: 'default', name: 'a' },
    ]);
  });

  test('that cannot be asked says why', async () => {
    answer = () => Response.json({ kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' }, { status: 403 });
    const check = permissionCheck(posts, 'get', {});
    (await changed(check))();
    expect(check.current).toMatchObject({ isAllowed: undefined, failure: { code: 403 } });
  });

  test('of another session is another one', async () => {
    const check = permissionCheck(posts, 'get', {});
    expect(permissionCheck(posts, 'get', {})).toBe(check);
    await server.logout();
    expect(permissionCheck(posts, 'get', {})).not.toBe(check);
  });

  test('is forgotten if nobody uses it, and there are many', () => {
    const used = permissionCheck(posts, 'get', { name: 'used' });
    const end = used.subscribe(() => undefined);
    const unused = permissionCheck(posts, 'get', { name: 'unused' });
    for (let count = 0; count < 600; count += 1) permissionCheck(posts, 'get', { name: String(count) });
    expect(permissionCheck(posts, 'get', { name: 'used' })).toBe(used);
    expect(permissionCheck(posts, 'get', { name: 'unused' })).not.toBe(unused);
    end();
  });
});
