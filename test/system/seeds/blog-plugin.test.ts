import { describe, expect, test } from '@jest/globals';
import { publicationOf } from '../../../config/samples/plugins/blog/controllers/publication.ts';
import { initial } from '../../../config/samples/plugins/blog/index-keys.ts';
import blog from '../../../config/samples/plugins/blog/index.ts';
import type { Post } from '../../../config/samples/plugins/blog/models.ts';

test('a plugin is a value, which can be inspected before it runs', () => {
  expect(blog.models.map(({ plural }) => plural)).toEqual(['posts', 'tags', 'comments']);
  expect(blog.controllers.map(({ name }) => name)).toEqual(['publication', 'tag-counts', 'discussion']);
  expect(blog.endpoints.map(({ audience, method, path }) => `${audience} ${method} ${path}`)).toEqual([
    'public GET /posts',
    'public GET /posts/{slug}',
    'uc POST /posts/{slug}/comments',
    'console PUT /posts/{name}/publication',
    'console POST /comment-approvals',
    'console GET /stats',
  ]);
});

describe('the phase of a post', () => {
  const now = Date.parse('2026-05-05T12:00:00Z');
  const before = '2026-05-05T11:59:59Z';
  const after = '2026-05-05T12:00:01Z';
  const cases: {
    reason: string;
    spec: Partial<Post['spec']>;
    status?: Post['status'];
    is: ReturnType<typeof publicationOf>;
  }[] = [
    { reason: 'not to be published', spec: {}, is: { phase: 'Draft' } },
    {
      reason: 'not to be published, at any time',
      spec: { publish: false, publishAt: before },
      is: { phase: 'Draft' },
    },
    {
      reason: 'withdrawn',
      spec: { publish: false },
      status: { phase: 'Published', publishedAt: before },
      is: { phase: 'Draft' },
    },
    {
      reason: 'published at once',
      spec: { publish: true },
      is: { phase: 'Published', publishedAt: '2026-05-05T12:00:00.000Z' },
    },
    {
      reason: 'published before, which stays when it was',
      spec: { publish: true },
      status: { phase: 'Published', publishedAt: before },
      is: { phase: 'Published', publishedAt: before },
    },
    {
      reason: 'published again after a withdrawal',
      spec: { publish: true },
      status: { phase: 'Draft', publishedAt: before },
      is: { phase: 'Published', publishedAt: '2026-05-05T12:00:00.000Z' },
    },
    {
      reason: 'scheduled for later',
      spec: { publish: true, publishAt: after },
      is: { phase: 'Scheduled', waitMs: 1000 },
    },
    {
      reason: 'scheduled, and due',
      spec: { publish: true, publishAt: before },
      status: { phase: 'Scheduled' },
      is: { phase: 'Published', publishedAt: before },
    },
    {
      reason: 'postponed',
      spec: { publish: true, publishAt: after },
      status: { phase: 'Published', publishedAt: before },
      is: { phase: 'Scheduled', waitMs: 1000 },
    },
  ];
  test.each(cases)('$reason', ({ spec, status, is }) => {
    const post: Post = {
      apiVersion: 'blog.example.com/v1',
      kind: 'Post',
      metadata: { name: 'a' },
      spec: { title: 'A', slug: 'a', ...spec },
      ...(status === undefined ? {} : { status }),
    };
    expect(publicationOf(post, now)).toEqual(is);
  });
});

test.each([
  ['apples', 'A'],
  ['  Éclairs', 'E'],
  ['Ölberg', 'O'],
  ['10 reasons', '#'],
  ['«quoted»', '#'],
  ['Яблоко', 'Я'],
  ['東京', '#'],
  [' ', '#'],
])('a register has %j under %s', (title, letter) => {
  expect(initial({ spec: { title } })).toBe(letter);
});
