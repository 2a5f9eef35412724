import { randomUUID } from 'node:crypto';
import {
  computedKey,
  type ApiObject,
  type GroupResource,
  type IndexDefinition,
  type JsonObject,
} from '#pkg/apimachinery/index';
import { decodeBody } from '../body.ts';
import type { StoredModel, StoredObject, Write } from '../store.ts';

const index = (name: string, rest: Partial<IndexDefinition> = {}): IndexDefinition => ({
  name,
  path: name,
  type: 'string',
  multi: false,
  unique: false,
  nullable: true,
  ...rest,
});

/** The parts of a model that the store needs. */
export type StoreModel = StoredModel;

export const widgetIndexes = {
  slug: index('spec.slug', { unique: true }),
  owner: index('spec.owner'),
  rank: index('spec.rank', { type: 'integer' }),
  weight: index('spec.weight', { type: 'number' }),
  open: index('spec.open', { type: 'boolean' }),
  due: index('spec.due', { type: 'date' }),
  tags: index('spec.tags', { path: 'spec.tags[*]', multi: true }),
};

/** A model with the given plural and an index of every type. */
export function sampleModel(
  plural: string,
  options: { namespaced?: boolean; indexes?: IndexDefinition[] } = {},
): StoreModel {
  return {
    group: 'store.example.com',
    names: { plural, singular: plural, kind: 'Widget', listKind: 'WidgetList', shortNames: [], categories: [] },
    scope: options.namespaced === true ? 'Namespaced' : 'Cluster',
    indexes: options.indexes ?? Object.values(widgetIndexes),
  };
}

/** A model with computed indexes: `functions` are their sources, as members of an object. */
export function computedModel(
  plural: string,
  functions: Record<string, string>,
  indexes: (Partial<IndexDefinition> & { name: string; key: string })[],
): StoreModel {
  const keyScript = `var indexKeys = { ${Object.entries(functions)
    .map(([name, source]) => `${name}: ${source}`)
    .join(', ')} };`;
  const declared = indexes.map(({ key, ...rest }) => {
    const whole = index(rest.name, { ...rest, path: '' });
    return { ...whole, computed: computedKey(key, keyScript, whole) };
  });
  return { ...sampleModel(plural, { indexes: declared }), keyScript };
}

export function resourceOf(model: StoreModel): GroupResource {
  return { group: model.group, resource: model.names.plural };
}

export interface SampleObject {
  namespace?: string;
  labels?: Record<string, string>;
  spec?: JsonObject;
  created?: string;
  deleted?: string;
  /** The owners' uids. */
  owners?: string[];
  managedFields?: JsonObject[];
}

export function sampleObject(
  name: string,
  { namespace, labels, spec = {}, created, deleted, owners, managedFields }: SampleObject = {},
): ApiObject {
  return {
    apiVersion: 'store.example.com/v1',
    kind: 'Widget',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: randomUUID(),
      creationTimestamp: created ?? '2026-01-01T00:00:00Z',
      ...(deleted === undefined ? {} : { deletionTimestamp: deleted }),
      ...(labels === undefined ? {} : { labels }),
      ...(owners === undefined
        ? {}
        : { ownerReferences: owners.map((uid) => ({ apiVersion: 'v1', kind: 'Owner', name: 'o', uid })) }),
      ...(managedFields === undefined ? {} : { managedFields }),
    },
    spec,
  };
}

export function createOf(model: StoreModel, object: ApiObject): Write {
  return { type: 'create', resource: resourceOf(model), object, fingerprint: 'f1' };
}

export function updateOf(model: StoreModel, from: StoredObject, spec: JsonObject): Write {
  return {
    type: 'update',
    resource: resourceOf(model),
    object: { ...decodeBody(from.body, from.revision, from.managed), spec },
    fingerprint: 'f1',
    from,
  };
}

export function deleteOf(model: StoreModel, from: StoredObject): Write {
  return {
    type: 'delete',
    resource: resourceOf(model),
    object: decodeBody(from.body, from.revision, from.managed),
    fingerprint: 'f1',
    from,
  };
}
