import { pause } from '#pkg/apimachinery/index';
import type { ContractClient } from './client.ts';

export const group = 'contract.example.com';
export const apiVersion = `${group}/v1`;
/** Cluster-scoped, an index of each type, no status subresource. */
export const articles = `/apis/${apiVersion}/articles`;
/** Cluster-scoped, with a status subresource and a selectable field. */
export const reports = `/apis/${apiVersion}/reports`;
/** Cluster-scoped, with an index that must not be null. */
export const sections = `/apis/${apiVersion}/sections`;
/** Namespaced; the path without a namespace lists all namespaces. */
export const notes = `/apis/${apiVersion}/notes`;
export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const namespaces = '/api/v1/namespaces';

export function notesIn(namespace: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/notes`;
}

export function article(name: string, spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}) {
  return { apiVersion, kind: 'Article', metadata: { name, ...metadata }, spec };
}

export function report(name: string, spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}) {
  return { apiVersion, kind: 'Report', metadata: { name, ...metadata }, spec };
}

export function note(name: string, spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}) {
  return { apiVersion, kind: 'Note', metadata: { name, ...metadata }, spec };
}

interface Model {
  kind: string;
  plural: string;
  scope?: 'Cluster' | 'Namespaced';
  spec: Record<string, unknown>;
  required?: string[];
  /** Further fields of the definition's version. */
  version?: Record<string, unknown>;
}

export function definitionFor({ kind, plural, scope = 'Cluster', spec, required = [], version = {} }: Model) {
  const status = {
    type: 'object',
    properties: { phase: { type: 'string', maxLength: 20 }, count: { type: 'integer' } },
  };
  const properties = {
    spec: { type: 'object', properties: spec, ...(required.length === 0 ? {} : { required }) },
    status,
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties } },
          ...version,
        },
      ],
    },
  };
}

const text = { type: 'string' };
const articleDefinition = definitionFor({
  kind: 'Article',
  plural: 'articles',
  spec: {
    title: { type: 'string', minLength: 1, maxLength: 40 },
    subtitle: { type: 'string', nullable: true },
    slug: text,
    tags: { type: 'array', items: text },
    priority: { type: 'integer', minimum: -1000, maximum: 1000 },
    big: { type: 'integer', format: 'int64' },
    score: { type: 'number' },
    published: { type: 'boolean' },
    publishedAt: { type: 'string', format: 'date-time' },
    format: { type: 'string', enum: ['markdown', 'html'] },
    code: { type: 'string', pattern: '^[A-Z]+$' },
    body: text,
    extra: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
  version: {
    indexes: [
      { name: 'slug', path: 'spec.slug', type: 'string', unique: true },
      { name: 'title', path: 'spec.title', type: 'string' },
      { name: 'tags', path: 'spec.tags[*]', type: 'string', multi: true },
      { name: 'priority', path: 'spec.priority', type: 'integer' },
      { name: 'big', path: 'spec.big', type: 'integer' },
      { name: 'score', path: 'spec.score', type: 'number' },
      { name: 'published', path: 'spec.published', type: 'boolean' },
      { name: 'publishedAt', path: 'spec.publishedAt', type: 'date' },
    ],
  },
});

const reportDefinition = definitionFor({
  kind: 'Report',
  plural: 'reports',
  spec: { color: text, size: { type: 'integer', minimum: 0, maximum: 10 }, note: text },
  version: { subresources: { status: {} }, selectableFields: [{ jsonPath: '.spec.color' }] },
});

const sectionDefinition = definitionFor({
  kind: 'Section',
  plural: 'sections',
  spec: { code: text },
  version: { indexes: [{ name: 'code', path: 'spec.code', type: 'string', nullable: false }] },
});

const noteDefinition = definitionFor({
  kind: 'Note',
  plural: 'notes',
  scope: 'Namespaced',
  spec: { text },
  version: { indexes: [{ name: 'text', path: 'spec.text', type: 'string' }] },
});

/** Registers the models and waits until each is served with its indexes. */
export async function registerModels(client: ContractClient): Promise<void> {
  for (const [path, body, indexed] of [
    [articles, articleDefinition, ['slug', 'title', 'tags', 'priority', 'big', 'score', 'published', 'publishedAt']],
    [reports, reportDefinition, ['spec.color']],
    [sections, sectionDefinition, ['code']],
    [notes, noteDefinition, ['text']],
  ] as const) {
    const created = await client.post(definitions, body);
    if (created.status !== 201) throw new Error(`The definition was refused: ${created.text}`);
    for (const index of indexed) await untilOk(client, `${path}?fieldSelector=!${index}`);
  }
}

async function untilOk(client: ContractClient, path: string): Promise<void> {
  const end = Date.now() + 15_000;
  for (;;) {
    const answer = await client.get(path);
    if (answer.status === 200) return;
    if (Date.now() > end) throw new Error(`Not served: ${path}: ${answer.text}`);
    await pause(50);
  }
}
