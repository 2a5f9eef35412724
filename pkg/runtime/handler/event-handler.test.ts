import { expect, test } from '@jest/globals';
import type { AnyObject, ObjectMeta, OwnerReference, ResourceType, Stored } from '#pkg/apimachinery/index';
import type { ObjectEvent } from '../event/object-event.ts';
import type { ReconcileRequest } from '../reconcile/reconciler.ts';
import { enqueueMapped, enqueueObject, enqueueOwner, type EventHandler } from './event-handler.ts';

const post: ResourceType = {
  group: 'blog.example.com',
  version: 'v2',
  kind: 'Post',
  plural: 'posts',
  namespaced: true,
  hasStatusSubresource: true,
};
const site: ResourceType = { ...post, kind: 'Site', plural: 'sites', namespaced: false };

function comment(metadata: Partial<ObjectMeta> = {}): Stored<AnyObject> {
  return {
    apiVersion: 'blog.example.com/v1',
    kind: 'Comment',
    metadata: {
      name: 'c',
      namespace: 'team',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
  };
}

function owner(name: string, more: Partial<OwnerReference> = {}): OwnerReference {
  return { apiVersion: 'blog.example.com/v1', kind: 'Post', name, uid: name, controller: true, ...more };
}

function created(metadata: Partial<ObjectMeta>): ObjectEvent {
  return { type: 'create', object: comment(metadata) };
}

const cases: { reason: string; handler: EventHandler; event: ObjectEvent; requests: ReconcileRequest[] }[] = [
  {
    reason: 'the object itself',
    handler: enqueueObject,
    event: created({}),
    requests: [{ namespace: 'team', name: 'c' }],
  },
  {
    reason: 'the owner, whatever its version',
    handler: enqueueOwner(post),
    event: created({ ownerReferences: [owner('p')] }),
    requests: [{ namespace: 'team', name: 'p' }],
  },
  {
    reason: 'a cluster-scoped owner',
    handler: enqueueOwner(site),
    event: created({ ownerReferences: [owner('s', { kind: 'Site' })] }),
    requests: [{ namespace: '', name: 's' }],
  },
  {
    reason: 'no owner of another kind or group',
    handler: enqueueOwner(post),
    event: created({ ownerReferences: [owner('p', { kind: 'Page' }), owner('q', { apiVersion: 'v1' })] }),
    requests: [],
  },
  {
    reason: 'no owner that is not the controller',
    handler: enqueueOwner(post),
    event: created({ ownerReferences: [owner('p', { controller: false })] }),
    requests: [],
  },
  {
    reason: 'every owner, if asked',
    handler: enqueueOwner(post, { onlyController: false }),
    event: created({ ownerReferences: [owner('p', { controller: false })] }),
    requests: [{ namespace: 'team', name: 'p' }],
  },
  {
    reason: 'the former owner and the new one',
    handler: enqueueOwner(post),
    event: {
      type: 'update',
      old: comment({ ownerReferences: [owner('old')] }),
      object: comment({ ownerReferences: [owner('new')] }),
    },
    requests: [
      { namespace: 'team', name: 'old' },
      { namespace: 'team', name: 'new' },
    ],
  },
  {
    reason: 'what a label names, before and after',
    handler: enqueueMapped(({ metadata }) =>
      metadata.labels?.['post'] === undefined ? [] : [{ namespace: '', name: metadata.labels['post'] }],
    ),
    event: { type: 'update', old: comment({ labels: { post: 'p' } }), object: comment({}) },
    requests: [{ namespace: '', name: 'p' }],
  },
];
test.each(cases)('$reason', ({ handler, event, requests }) => {
  expect(Array.from(handler(event))).toEqual(requests);
});
