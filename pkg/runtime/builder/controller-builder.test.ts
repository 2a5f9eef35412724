import { expect, test } from '@jest/globals';
import type { ResourceType } from '#pkg/apimachinery/index';
import { enqueueObject } from '../handler/event-handler.ts';
import type { Predicate } from '../predicate/predicate.ts';
import { controllerFor } from './controller-builder.ts';

const post: ResourceType = {
  group: 'blog.example.com',
  version: 'v1',
  kind: 'Post',
  plural: 'posts',
  namespaced: true,
  hasStatusSubresource: true,
};
const comment: ResourceType = { ...post, kind: 'Comment', plural: 'comments' };
const predicate = (): Predicate => () => true;
const done = (): Promise<void> => Promise.resolve();

test('predicates apply to the watch that they were given with, and those of the own type add up', () => {
  const [first, second, ofOwned, ofOther] = [predicate(), predicate(), predicate(), predicate()];
  const { watches } = controllerFor(post)
    .withPredicate(first)
    .owns(comment, { predicates: [ofOwned], selection: { labelSelector: 'a=b' } })
    .watches(comment, enqueueObject, { predicates: [ofOther], isMappingFixed: true })
    .withPredicate(second)
    .reconcile(done);
  expect(watches).toEqual([
    { type: post, selection: {}, handler: enqueueObject, predicates: [first, second] },
    {
      type: comment,
      selection: { labelSelector: 'a=b' },
      handler: expect.any(Function),
      predicates: [ofOwned],
      isMappingFixed: false,
    },
    { type: comment, selection: {}, handler: enqueueObject, predicates: [ofOther], isMappingFixed: true },
  ]);
  expect(watches[0]!.predicates[0]).toBe(first);
});

test('each step returns a new builder, and does not change the previous one', () => {
  const base = controllerFor(post, { namespace: 'team' });
  base.named('other').withPredicate(predicate()).owns(comment).withTuning({ concurrency: 5 });
  const { name, watches, tuning } = base.withTuning({ concurrency: 2 }).withResume({ version: '1' }).reconcile(done);
  expect(name).toBe('posts');
  expect(watches).toEqual([{ type: post, selection: { namespace: 'team' }, handler: enqueueObject, predicates: [] }]);
  expect(tuning).toEqual({ concurrency: 2, resume: { version: '1' } });
});
