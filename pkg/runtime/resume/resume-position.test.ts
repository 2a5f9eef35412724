import { describe, expect, test } from '@jest/globals';
import type { WatchDefinition } from '../definition/controller-definition.ts';
import { enqueueObject } from '../handler/event-handler.ts';
import { formatPosition, maxOpenRequests, parsePosition, resumeSignature } from './resume-position.ts';

const posts = {
  group: 'blog.example.com',
  version: 'v1',
  kind: 'Post',
  plural: 'posts',
  namespaced: true,
  hasStatusSubresource: true,
};
const watch = (change: Partial<WatchDefinition> = {}): WatchDefinition => ({
  type: posts,
  selection: {},
  handler: enqueueObject,
  predicates: [],
  ...change,
});

test('a position is parsed as it was formatted', () => {
  const position = {
    signature: 's',
    revisions: [12n, 9_007_199_254_740_993n],
    open: new Map([
      ['team/a', 0],
      ['/b', 1234],
    ]),
  };
  expect(parsePosition(formatPosition(position))).toEqual(position);
  expect(parsePosition(formatPosition({ ...position, version: 'v' }))).toEqual({ ...position, version: 'v' });
});

describe('an invalid position is refused', () => {
  const sound = { v: 1, signature: 's', revisions: ['1'], open: {} };
  test.each([
    ['no JSON', '{'],
    ['nothing', 'null'],
    ['another form', JSON.stringify({ ...sound, v: 2 })],
    ['no signature', JSON.stringify({ ...sound, signature: 1 })],
    ['a version that is not text', JSON.stringify({ ...sound, version: 2 })],
    ['a revision that is not a decimal', JSON.stringify({ ...sound, revisions: ['1', '0x2'] })],
    ['a revision that is a number', JSON.stringify({ ...sound, revisions: [1] })],
    ['an invalid time', JSON.stringify({ ...sound, open: { '/a': 'now' } })],
    ['an invalid key', JSON.stringify({ ...sound, open: { a: 0 } })],
    [
      'too many keys',
      JSON.stringify({
        ...sound,
        open: Object.fromEntries(Array.from({ length: maxOpenRequests + 1 }, (_, i) => [`/${i}`, 0])),
      }),
    ],
  ])('%s', (_, text) => {
    expect(parsePosition(text)).toBeUndefined();
  });
});

describe('a signature changes with', () => {
  const signature = resumeSignature([watch(), watch({ selection: { labelSelector: 'a=b' } })]);
  test.each([
    ['a missing watch', resumeSignature([watch()])],
    ['another selection', resumeSignature([watch(), watch({ selection: { labelSelector: 'a=c' } })])],
    ['another order', resumeSignature([watch({ selection: { labelSelector: 'a=b' } }), watch()])],
    [
      'a field selector',
      resumeSignature([watch(), watch({ selection: { labelSelector: 'a=b', fieldSelector: 'spec.c=d' } })]),
    ],
    ['a namespace', resumeSignature([watch(), watch({ selection: { labelSelector: 'a=b', namespace: 'team' } })])],
    [
      'another version of a type',
      resumeSignature([watch({ type: { ...posts, version: 'v2' } }), watch({ selection: { labelSelector: 'a=b' } })]),
    ],
    [
      'another group',
      resumeSignature([
        watch({ type: { ...posts, group: 'news.example.com' } }),
        watch({ selection: { labelSelector: 'a=b' } }),
      ]),
    ],
    [
      'another resource',
      resumeSignature([
        watch({ type: { ...posts, plural: 'drafts' } }),
        watch({ selection: { labelSelector: 'a=b' } }),
      ]),
    ],
  ])('%s', (_, other) => {
    expect(other).not.toBe(signature);
  });

  test('nothing else', () => {
    expect(resumeSignature([watch({ predicates: [() => true] }), watch({ selection: { labelSelector: 'a=b' } })])).toBe(
      signature,
    );
  });
});
