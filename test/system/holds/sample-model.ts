import type { MeasuredServer } from './measured-server.ts';

export const group = 'holds.svc.example';
export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

type Json = Record<string, unknown>;

export interface SampleVersion {
  schema: unknown;
  extra?: Json;
}

export const openObject: Json = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** A definition in the group of these runs; several versions are named `v1`, `v2`..., and the first is stored. */
export function definition(plural: string, versions: readonly SampleVersion[]): Json {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, kind: kindOf(plural) },
      versions: versions.map(({ schema, extra }, index) => ({
        name: `v${index + 1}`,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: schema },
        ...extra,
      })),
    },
  };
}

/** A schema with this `spec`. */
export function withSpec(spec: unknown): Json {
  return { type: 'object', properties: { spec } };
}

export function kindOf(plural: string): string {
  return `${plural[0]!.toUpperCase()}${plural.slice(1)}`;
}

export function collectionOf(plural: string, version = 'v1'): string {
  return `/apis/${group}/${version}/${plural}`;
}

export function object(plural: string, name: string, fields: Json, version = 'v1'): Json {
  return { apiVersion: `${group}/${version}`, kind: kindOf(plural), metadata: { name }, ...fields };
}

export async function define(
  server: MeasuredServer,
  plural: string,
  versions: readonly SampleVersion[],
): Promise<void> {
  await server.expect({ method: 'POST', path: definitionsPath, body: JSON.stringify(definition(plural, versions)) });
}

export async function create(server: MeasuredServer, plural: string, sample: Json): Promise<void> {
  await server.expect({ method: 'POST', path: collectionOf(plural), body: JSON.stringify(sample) });
}

/** The results of `make` for `count` positions. */
export function many<T>(count: number, make: (position: number) => T): T[] {
  return Array.from({ length: count }, (_, position) => make(position));
}

/** An object with `count` members. */
export function members<T>(count: number, make: (position: number) => T, prefix = 'k'): Record<string, T> {
  return Object.fromEntries(many(count, (position) => [`${prefix}${position}`, make(position)]));
}

/** `inner` wrapped `levels` times. */
export function nested<T>(levels: number, inner: T, wrap: (inner: T, level: number) => T): T {
  let value = inner;
  for (let level = 0; level < levels; level += 1) value = wrap(value, level);
  return value;
}
