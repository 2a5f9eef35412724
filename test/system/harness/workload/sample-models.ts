import type {
  Fields,
  FieldValue,
  ModelRecord,
  ObjectState,
  ObservedObject,
  SentObject,
  SentPatch,
} from '../history/history.ts';

export const group = 'faults.svc.example';

export type IndexType = 'string' | 'integer';

/** A model of the run. Every declared index is a spec field of the same name. */
export interface SampleModel extends ModelRecord {
  plural: string;
  kind: string;
  indexes: SampleIndex[];
  /** Added and removed under load; the field always exists. */
  optionalIndex?: SampleIndex;
  /** Number of object names: few, so that writes conflict. */
  names: number;
}

export interface SampleIndex {
  field: string;
  type: IndexType;
  unique?: boolean;
  multi?: boolean;
}

/** Most of the work: two namespaces, two unique indexes, hot keys. */
export const things: SampleModel = {
  name: `things.${group}`,
  plural: 'things',
  kind: 'Thing',
  namespaced: true,
  unique: ['spec.slug', 'spec.code'],
  indexes: [
    { field: 'slug', type: 'string', unique: true },
    { field: 'code', type: 'integer', unique: true },
    { field: 'category', type: 'string' },
    { field: 'priority', type: 'integer' },
    { field: 'tags', type: 'string', multi: true },
  ],
  optionalIndex: { field: 'extra', type: 'string' },
  names: 25,
};

/** Cluster-scoped; its collection is deleted. */
export const notes: SampleModel = {
  name: `notes.${group}`,
  plural: 'notes',
  kind: 'Note',
  namespaced: false,
  unique: [],
  indexes: [
    { field: 'category', type: 'string' },
    { field: 'priority', type: 'integer' },
  ],
  names: 40,
};

/** Dropped and recreated under load. */
export const fleeting: SampleModel = {
  name: `fleetings.${group}`,
  plural: 'fleetings',
  kind: 'Fleeting',
  namespaced: false,
  unique: ['spec.slug'],
  indexes: [
    { field: 'slug', type: 'string', unique: true },
    { field: 'category', type: 'string' },
  ],
  names: 15,
};

export const sampleModels: readonly SampleModel[] = [things, notes, fleeting];
export const namespaces: readonly [string, ...string[]] = ['default', 'second'];
export const namespacesPath = '/api/v1/namespaces';
export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The path of the collection or of an object; without a namespace that of all namespaces. */
export function pathOf({ plural }: SampleModel, namespace = '', name?: string): string {
  const within = namespace === '' ? '' : `/namespaces/${namespace}`;
  return `/apis/${group}/v1${within}/${plural}${name === undefined ? '' : `/${name}`}`;
}

export function fieldsOf(model: SampleModel): SampleIndex[] {
  return model.optionalIndex === undefined ? model.indexes : [...model.indexes, model.optionalIndex];
}

export function indexNameOf({ field }: SampleIndex): string {
  return `spec.${field}`;
}

/** The definition, with or without the optional index. */
export function definitionOf(model: SampleModel, { withOptional = false }: { withOptional?: boolean } = {}): object {
  const { plural, kind, namespaced } = model;
  const properties = Object.fromEntries(
    fieldsOf(model).map((index) => [
      index.field,
      index.multi === true ? { type: 'array', items: { type: index.type } } : { type: index.type },
    ]),
  );
  const indexes = (withOptional ? fieldsOf(model) : model.indexes).map((index) => ({
    name: indexNameOf(index),
    path: `spec.${index.field}${index.multi === true ? '[*]' : ''}`,
    type: index.type,
    ...(index.unique === true ? { unique: true } : {}),
    ...(index.multi === true ? { multi: true } : {}),
  }));
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: model.name },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  required: ['marker'],
                  properties: { marker: { type: 'string' }, ...properties },
                },
              },
            },
          },
          indexes,
        },
      ],
    },
  };
}

/** The body of a create or an update. */
export function bodyOf(
  model: SampleModel,
  key: { namespace: string; name: string },
  sent: SentObject,
  revision?: number,
): object {
  return {
    apiVersion: `${group}/v1`,
    kind: model.kind,
    metadata: {
      name: key.name,
      ...(key.namespace === '' ? {} : { namespace: key.namespace }),
      ...(revision === undefined ? {} : { resourceVersion: String(revision) }),
      labels: sent.labels,
    },
    spec: specOf(sent.marker, Object.fromEntries(Object.entries(sent.fields).filter(([, value]) => value !== null))),
  };
}

/** The body of a merge patch. */
export function patchOf({ marker, labels, fields = {} }: SentPatch, revision?: number): object {
  const metadata = {
    ...(labels === undefined ? {} : { labels }),
    ...(revision === undefined ? {} : { resourceVersion: String(revision) }),
  };
  return { metadata, spec: specOf(marker, fields) };
}

function specOf(marker: string, fields: Fields): object {
  return {
    marker,
    ...Object.fromEntries(Object.entries(fields).map(([index, value]) => [index.slice('spec.'.length), value])),
  };
}

/** The relevant fields of an object on the wire. */
export interface WireObject {
  metadata: {
    name: string;
    namespace?: string;
    uid: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
  };
  spec: { marker: string } & Record<string, FieldValue>;
}

export function stateOf(model: SampleModel, { metadata, spec }: WireObject): ObjectState {
  const fields: Fields = {};
  for (const index of fieldsOf(model)) fields[indexNameOf(index)] = spec[index.field] ?? null;
  return { uid: metadata.uid, marker: spec.marker, labels: metadata.labels ?? {}, fields };
}

export function observedObject(model: SampleModel, object: WireObject): ObservedObject {
  const { name, namespace = '', resourceVersion } = object.metadata;
  return { namespace, name, revision: Number(resourceVersion), ...stateOf(model, object) };
}
