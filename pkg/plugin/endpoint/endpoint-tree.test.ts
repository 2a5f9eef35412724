import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PluginEndpoint } from '#pkg/apis/index';
import { endpointPrefix, parseEndpointPath } from './endpoint-path.ts';
import { EndpointTable, EndpointTree } from './endpoint-tree.ts';

const prefix = '/apis/api.blog.example.com/v1';

function endpoint(path: string, method: PluginEndpoint['method'] = 'GET'): PluginEndpoint {
  return {
    audience: 'public',
    group: 'blog.example.com',
    version: 'v1',
    method,
    path,
    operationId: `${method}_${path}`.replaceAll(/\W/g, '_'),
  };
}

function treeOf(...paths: string[]): EndpointTree {
  const tree = new EndpointTree(prefix);
  for (const path of paths) tree.add({ plugin: 'blog', endpoint: endpoint(path) });
  return tree;
}

describe('a path is found', () => {
  const tree = treeOf(
    '/posts',
    '/posts/{name}',
    '/posts/latest',
    '/posts/{name}/comments/{id}',
    '/{kind}/latest/raw',
    '/{kind}/{name}/raw',
    '/a.b~c_d-e',
  );

  test.each([
    ['a literal', '/posts', '/posts', {}],
    ['a parameter', '/posts/hello', '/posts/{name}', { name: 'hello' }],
    ['a literal before a parameter', '/posts/latest', '/posts/latest', {}],
    ['two parameters', '/posts/a/comments/7', '/posts/{name}/comments/{id}', { name: 'a', id: '7' }],
    ['a way back from a literal that leads nowhere', '/posts/latest/raw', '/{kind}/latest/raw', { kind: 'posts' }],
    ['further back', '/posts/x/raw', '/{kind}/{name}/raw', { kind: 'posts', name: 'x' }],
    ['every character of a literal', '/a.b~c_d-e', '/a.b~c_d-e', {}],
    ['a parameter of any text', '/posts/ü {name} %2F ..', '/posts/{name}', { name: 'ü {name} %2F ..' }],
    ['a name of Object.prototype as a value', '/posts/__proto__', '/posts/{name}', { name: '__proto__' }],
    ['the template itself is only a value', '/posts/{name}', '/posts/{name}', { name: '{name}' }],
  ])('%s', (_reason, path, template, params) => {
    const found = tree.find(`${prefix}${path}`);
    expect(found?.place.path).toBe(`${prefix}${template}`);
    expect(found?.params).toEqual(params);
  });

  test.each([
    ['the prefix alone', ''],
    ['the prefix as a folder', '/'],
    ['a slash at the end', '/posts/'],
    ['and behind a parameter', '/posts/hello/'],
    ['another case', '/Posts'],
    ['a beginning of a literal', '/post'],
    ['more than a literal', '/postsx'],
    ['below a leaf', '/posts/hello/comments'],
    ['further below', '/posts/hello/comments/1/2'],
    ['an empty segment', '/posts//comments/1'],
    ['the prefix goes on without a slash', 'x/posts'],
    ['a name of Object.prototype', '/constructor'],
    ['a path of very many segments', '/posts'.repeat(10_000)],
    ['a template that is none', '/{name}'],
  ])('not: %s', (_reason, path) => {
    expect(tree.find(`${prefix}${path}`)).toBeUndefined();
  });
});

test('the tree finds what a comparison with all templates finds', () => {
  const segment = fc.constantFrom('a', 'b', '{x}', '{y}');
  const template = fc.uniqueArray(segment, {
    minLength: 1,
    maxLength: 4,
    selector: (each) => (each.startsWith('{') ? each : Symbol(each)),
  });
  fc.assert(
    fc.property(
      fc.array(template, { maxLength: 12 }),
      fc.array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1, maxLength: 5 }),
      (templates, path) => {
        const tree = new EndpointTree(prefix);
        const there = templates.filter(
          (parts) => tree.add({ plugin: 'p', endpoint: endpoint(`/${parts.join('/')}`) }) === undefined,
        );
        const matching = there.filter(
          (parts) =>
            parts.length === path.length &&
            parts.every((part, i) => path[i] !== '' && (part === path[i] || part.startsWith('{'))),
        );
        const best = matching.toSorted((a, b) => rank(a).localeCompare(rank(b)))[0];
        expect(tree.find(`${prefix}/${path.join('/')}`)?.place.path).toBe(
          best === undefined ? undefined : `${prefix}/${best.join('/')}`,
        );
      },
    ),
    { numRuns: 500 },
  );
});

/** Literals first, from the left. */
function rank(parts: readonly string[]): string {
  return parts.map((part) => (part.startsWith('{') ? '1' : '0')).join('');
}

describe('a path that is taken', () => {
  test('is reported with its holder, and nothing is added', () => {
    const table = new EndpointTable();
    const first = { plugin: 'first', endpoint: endpoint('/posts/{name}') };
    expect(table.add(first)).toBeUndefined();
    expect(table.add({ plugin: 'second', endpoint: endpoint('/posts/{name}') })).toBe(first);
    expect(table.add({ plugin: 'second', endpoint: endpoint('/posts/{id}', 'DELETE') })).toBe(first);
    expect(table.add({ plugin: 'second', endpoint: endpoint('/posts/{name}', 'DELETE') })).toBeUndefined();
    expect([...table.trees.get(prefix)!.find(`${prefix}/posts/x`)!.place.byMethod]).toMatchObject([
      ['GET', { plugin: 'first' }],
      ['DELETE', { plugin: 'second' }],
    ]);
  });

  test('is free in another audience, group or version', () => {
    const table = new EndpointTable();
    const all = [
      {},
      { audience: 'console' as const },
      { audience: 'uc' as const },
      { group: 'other.example.com' },
      { version: 'v2' },
    ];
    for (const facts of all)
      expect(table.add({ plugin: 'blog', endpoint: { ...endpoint('/posts'), ...facts } })).toBeUndefined();
    expect([...table.trees.keys()]).toEqual([
      prefix,
      '/apis/console.api.blog.example.com/v1',
      '/apis/uc.api.blog.example.com/v1',
      '/apis/api.other.example.com/v1',
      '/apis/api.blog.example.com/v2',
    ]);
  });
});

test('no two audiences share a prefix, for any groups', () => {
  const label = fc.constantFrom('api', 'console', 'uc', 'x');
  const group = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join('.'));
  fc.assert(
    fc.property(group, group, (one, other) => {
      expect(endpointPrefix({ audience: 'public', group: one, version: 'v1' })).not.toBe(
        endpointPrefix({ audience: 'console', group: other, version: 'v1' }),
      );
      expect(endpointPrefix({ audience: 'public', group: one, version: 'v1' })).not.toBe(
        endpointPrefix({ audience: 'uc', group: other, version: 'v1' }),
      );
      expect(endpointPrefix({ audience: 'console', group: one, version: 'v1' }).startsWith('/apis/api.')).toBe(false);
    }),
  );
});

describe('a template', () => {
  test.each([
    ['nothing', ''],
    ['no slash', 'posts'],
    ['a slash alone', '/'],
    ['an empty segment', '/posts//x'],
    ['a slash at the end', '/posts/'],
    ['a dot', '/posts/.'],
    ['two dots', '/../x'],
    ['a part of a segment', '/posts/{name}.json'],
    ['a parameter without a name', '/posts/{}'],
    ['a parameter twice', '/{name}/x/{name}'],
    ['a prototype key', '/{__proto__}'],
    ['another', '/{constructor}'],
    ['a percent sign', '/a%20b'],
    ['a question mark', '/a?b'],
    ['a hash', '/a#b'],
    ['a space', '/a b'],
    ['a character beyond ASCII', '/ü'],
    ['U+0000', '/a\u0000'],
    ['a star', '/*'],
    ['a colon, as express has parameters', '/:name'],
    ['a line feed at the end', '/posts\n'],
    ['too many segments', '/a'.repeat(33)],
    ['too many characters', `/${'a'.repeat(250)}`.repeat(5)],
    ['a long parameter', `/{${'a'.repeat(64)}}`],
  ])('is invalid: %s', (_reason, path) => {
    expect(parseEndpointPath(path)).toEqual(expect.stringMatching(/^(must|has) /));
  });

  test('has literal segments and named ones', () => {
    expect(parseEndpointPath('/posts/{name}/a-b')).toEqual([
      { literal: 'posts' },
      { parameter: 'name' },
      { literal: 'a-b' },
    ]);
  });
});
