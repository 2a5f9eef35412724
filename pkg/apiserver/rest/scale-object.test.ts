import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { scaled, scaleOf, scaleText } from './scale-object.ts';

const paths = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.status.labelSelector',
};
const object = (): JsonObject => ({
  apiVersion: 'blog.example.com/v1',
  kind: 'Post',
  metadata: {
    name: 'a',
    uid: 'u',
    resourceVersion: '5',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { x: 'y' },
  },
  spec: { replicas: 3, title: 't' },
  status: { replicas: 2, labelSelector: 'a=b' },
});

describe('scale', () => {
  test('shows the fields at its paths', () => {
    expect(scaleOf(object(), paths)).toEqual({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'a', uid: 'u', resourceVersion: '5', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'a=b' },
    });
  });

  test('of an object without replicas cannot be read', () => {
    expect(() => scaleText({ text: JSON.stringify({ ...object(), spec: {} }) }, paths)).toThrow(
      'the spec replicas field ".spec.replicas" does not exist',
    );
  });

  test.each([
    ['a number', { spec: { replicas: 7 } }, { replicas: 7, title: 't' }],
    ['no replicas, as Go writes 0', { spec: {} }, { replicas: 0, title: 't' }],
    ['null', { spec: { replicas: null } }, { replicas: 0, title: 't' }],
    ['no spec', {}, { replicas: 0, title: 't' }],
  ])('sets replicas and nothing else: %s', (_reason, scale, spec) => {
    const { metadata, ...rest } = object();
    const { resourceVersion: _, ...kept } = metadata as JsonObject;
    expect(scaled(object(), scale, paths)).toEqual({ ...rest, metadata: kept, spec });
  });

  test('sets an absent field at any depth', () => {
    const { spec: _, ...bare } = object();
    expect(
      scaled(bare, { spec: { replicas: 1 } }, { ...paths, specReplicasPath: '.spec.scaling.replicas' }),
    ).toMatchObject({ spec: { scaling: { replicas: 1 } } });
  });

  test('uses its resourceVersion and uid as preconditions', () => {
    expect(
      scaled(object(), { metadata: { resourceVersion: '4', uid: 'v' }, spec: { replicas: 1 } }, paths),
    ).toMatchObject({ metadata: { resourceVersion: '4', uid: 'v' } });
  });

  test.each([-1, 1.5, 2 ** 31, '3', {}, true])('refuses %p replicas', (replicas) => {
    expect(() => scaled(object(), { spec: { replicas } }, paths)).toThrow(expect.objectContaining({ code: 422 }));
  });
});
