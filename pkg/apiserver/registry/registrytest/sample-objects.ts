import type { JsonObject } from '#pkg/apimachinery/index';

export interface DefinitionSample {
  group: string;
  plural: string;
  kind: string;
  scope?: 'Cluster' | 'Namespaced';
  shortNames?: string[];
  versions?: JsonObject[];
}

export function sampleDefinition({
  group,
  plural,
  kind,
  scope = 'Cluster',
  shortNames = [],
  versions = [sampleVersion('v1')],
}: DefinitionSample): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, kind, shortNames }, versions },
  };
}

/** A version with a status subresource, a default, and indexes `spec.slug` (unique) and `spec.tags`. */
export function sampleVersion(name: string, more: JsonObject = {}): JsonObject {
  const spec: JsonObject = {
    type: 'object',
    required: ['title'],
    properties: {
      title: { type: 'string', maxLength: 20 },
      slug: { type: 'string' },
      priority: { type: 'integer', default: 5 },
      tags: { type: 'array', items: { type: 'string' } },
    },
  };
  return {
    name,
    served: true,
    storage: true,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec, status: { type: 'object', properties: { phase: { type: 'string' } } } },
      },
    },
    subresources: { status: {} },
    indexes: [
      { name: 'spec.slug', path: 'spec.slug', type: 'string', unique: true },
      { name: 'spec.tags', path: 'spec.tags[*]', type: 'string' },
    ],
    ...more,
  };
}

export function samplePost(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { name, ...metadata },
    spec: { title: 'Title', ...spec },
  };
}

export const postDefinition = sampleDefinition({ group: 'blog.example.com', plural: 'posts', kind: 'Post' });
