import { randomUUID } from 'node:crypto';
import type { ApiObject, GroupResource, IndexDefinition, JsonObject, Model } from '#pkg/apimachinery/index';
import type { Write } from '../store.ts';

const index = (name: string, rest: Partial<IndexDefinition> = {}): IndexDefinition => ({ name, path: name, type: 'string', multi: false, unique: false, nullable: true, ...rest });

/** What the store needs to know of a model. */
export type StoreModel = Pick<Model, 'group' | 'names' | 'scope' | 'indexes'>;

export const widgetIndexes = {
  slug: index('spec.slug', { unique: true }),
  owner: index('spec.owner'),
  rank: index('spec.rank', { type: 'integer' }),
  weight: index('spec.weight', { type: 'number' }),
  open: index('spec.open', { type: 'boolean' }),
  due: index('spec.due', { type: 'date' }),
  tags: index('spec.tags', { path: 'spec.tags[*]', multi: true }),
};

/** A model of the plural given, with an index of every type. */
export function sampleModel(plural: string, options: { namespaced?: boolean; indexes?: IndexDefinition[] } = {}): StoreModel {
  return {
    group: 'store.example.com',
    names: { plural, singular: plural, kind: 'Widget', listKind: 'WidgetList', shortNames: [], categories: [] },
    scope: options.namespaced === true ? 'Namespaced' : 'Cluster',
    indexes: options.indexes ?? Object.values(widgetIndexes),
  };
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
  /** Their uids. */
  owners?: string[];
}

export function sampleObject(name: string, { namespace, labels, spec = {}, created, deleted, owners }: SampleObject = {}): ApiObject {
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
      ...(owners === undefined ? {} : { ownerReferences: owners.map((uid) => ({ apiVersion: 'v1', kind: 'Owner', name: 'o', uid })) }),
    },
    spec,
  };
}

export function createOf(model: StoreModel, object: ApiObject): Write {
  return { type: 'create', resource: resourceOf(model), object, fingerprint: 'f1' };
}
