import { describe, expect, test } from '@jest/globals';
import type { PluginEndpoint, PluginPhase } from '#pkg/apis/index';
import { findEndpointConflicts } from './find-endpoint-conflicts.ts';
import { refuseEndpointConflicts } from './refuse-endpoint-conflicts.ts';

function endpoint(facts: Partial<PluginEndpoint> = {}): PluginEndpoint {
  return {
    audience: 'console',
    group: 'blog.example.com',
    version: 'v1',
    method: 'GET',
    path: '/posts/{name}',
    operationId: 'getPost',
    ...facts,
  };
}

function messages(
  endpoints: readonly PluginEndpoint[],
  others: Parameters<typeof findEndpointConflicts>[1] = [],
): string[] {
  return findEndpointConflicts({ plugin: 'blog', endpoints }, others).map(({ message }) => message);
}

describe('endpoints next to those of others', () => {
  test('have no conflict if paths or methods differ, and with their own earlier ones', () => {
    const others = [
      {
        plugin: 'shop',
        endpoints: [
          endpoint({ path: '/posts' }),
          endpoint({ method: 'POST' }),
          endpoint({ version: 'v2' }),
          endpoint({ audience: 'uc' }),
          endpoint({ path: '/posts/latest' }),
        ],
      },
      { plugin: 'blog', endpoints: [endpoint()] },
    ];
    expect(messages([endpoint()], others)).toEqual([]);
  });

  test('name the holder of a path', () => {
    expect(
      findEndpointConflicts(
        { plugin: 'blog', endpoints: [endpoint(), endpoint({ path: '/free', operationId: 'free' })] },
        [{ plugin: 'shop', endpoints: [endpoint()] }],
      ),
    ).toEqual([
      {
        endpoint: endpoint(),
        holder: 'shop',
        message: 'GET /apis/console.api.blog.example.com/v1/posts/{name} is mounted by the plugin shop already',
      },
    ]);
  });

  test('have a conflict if paths differ only in the names of their parameters', () => {
    expect(
      messages([endpoint({ path: '/posts/{id}', method: 'DELETE' })], [{ plugin: 'shop', endpoints: [endpoint()] }]),
    ).toEqual([
      'DELETE /apis/console.api.blog.example.com/v1/posts/{id} matches the same paths as GET /apis/console.api.blog.example.com/v1/posts/{name} of the plugin shop, with other names for the parameters',
    ]);
  });

  test('may use a group whose name only ends like one of the platform', () => {
    expect(
      messages([endpoint({ group: 'notsvc.run' }), endpoint({ group: 'svc.run.example.com', operationId: 'b' })]),
    ).toEqual([]);
  });

  test('are not affected by mistakes of others', () => {
    expect(
      messages([endpoint()], [{ plugin: 'shop', endpoints: [endpoint({ path: 'x' }), endpoint({ group: '..' })] }]),
    ).toEqual([]);
  });
});

describe('endpoints of one plugin', () => {
  test('cannot claim a path or a name twice', () => {
    expect(messages([endpoint(), endpoint({ operationId: 'again' })])).toEqual([
      'GET /apis/console.api.blog.example.com/v1/posts/{name} is mounted by the plugin itself already',
    ]);
    expect(messages([endpoint(), endpoint({ path: '/x' })])).toEqual([
      'two endpoints of the plugin have the operationId getPost',
    ]);
  });

  test.each<[string, Partial<Record<keyof PluginEndpoint, unknown>>, RegExp]>([
    ['an audience', { audience: 'all' }, /its audience must be/],
    ['no audience', { audience: undefined }, /its audience must be/],
    ['a method', { method: 'HEAD' }, /its method must be/],
    ['a method of Object.prototype', { method: 'constructor' }, /its method must be/],
    ['a group', { group: 'Blog' }, /its group /],
    ['an empty group', { group: '' }, /its group /],
    ['a long group', { group: `${'a'.repeat(60)}.`.repeat(4).slice(0, 243) + 'a' }, /its group is too long/],
    ["the platform's group", { group: 'svc.run' }, /its group must not be svc\.run/],
    ["a group of the platform's", { audience: 'uc', group: 'security.svc.run' }, /its group must not be svc\.run/],
    ['a version', { version: 'v1/x' }, /its version /],
    ['a path', { path: '/posts/' }, /its path /],
    ['a path that is not text', { path: 7 }, /its path /],
    ['an operationId', { operationId: 'a.b' }, /its operationId /],
    ['an operationId with a slash', { operationId: 'a/../b' }, /its operationId /],
  ])('cannot have %s that is invalid', (_reason, facts, message) => {
    expect(messages([endpoint(facts as Partial<PluginEndpoint>)])).toEqual([expect.stringMatching(message)]);
  });
});

test.each<[PluginPhase, boolean]>([
  ['Started', true],
  ['Failed', true],
  ['Stopping', true],
  ['Disabled', false],
])('a start next to a plugin that is %s and has the path', (phase, isRefused) => {
  const start = (): void =>
    refuseEndpointConflicts({ plugin: 'blog', endpoints: [endpoint()] }, [
      { metadata: { name: 'shop' }, status: { phase, endpoints: [endpoint()] } },
      { metadata: { name: 'empty' } },
    ]);
  if (isRefused)
    expect(start).toThrow(
      expect.objectContaining({ reason: 'EndpointConflict', message: expect.stringContaining('the plugin shop') }),
    );
  else expect(start).not.toThrow();
});
