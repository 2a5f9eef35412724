import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { isJsonObject, type JsonSchema, type Model } from '#pkg/apimachinery/index';
import { parse } from 'yaml';
import { defaultDefinition } from './default-definition.ts';
import type { CustomResourceDefinition } from './definition.ts';
import { definitionSchema } from './definition-schema.ts';
import { definitionStatus } from './definition-status.ts';
import { modelFromDefinition } from './model-from-definition.ts';
import { validateDefinition } from './validate-definition.ts';

const data = join(import.meta.dirname, '../../../../shared/data');

const definitions = ['gateway-api', 'cert-manager'].flatMap((project) => {
  const folder = join(data, project, 'crds');
  return readdirSync(folder).map((file) => ({
    file,
    definition: parse(readFileSync(join(folder, file), 'utf8')) as CustomResourceDefinition,
  }));
});

function modelOf(name: string): Model {
  const found = definitions.find(({ definition }) => definition.metadata.name === name);
  if (found === undefined) throw new Error(`no definition ${name} in ${data}`);
  return modelFromDefinition(defaultDefinition(found.definition));
}

/** Fields of a value that a structural schema would prune. */
function unknownFields(value: unknown, schema: JsonSchema, field: string): string[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => unknownFields(item, schema.items ?? {}, `${field}[${index}]`));
  if (!isJsonObject(value) || schema['x-kubernetes-preserve-unknown-fields'] === true || field === '.metadata')
    return [];
  return Object.entries(value).flatMap(([name, child]) => {
    const property = schema.properties?.[name];
    return property === undefined ? [`${field}.${name}`] : unknownFields(child, property, `${field}.${name}`);
  });
}

test('there are real definitions', () => {
  expect(definitions.length).toBeGreaterThanOrEqual(16);
});

describe.each(definitions)('$file', ({ definition }) => {
  test('is valid, unchanged', () => {
    expect(validateDefinition(defaultDefinition(definition), { validateStructuralSchema: () => [] })).toEqual([]);
  });

  test('loses nothing to the built-in schema', () => {
    expect(unknownFields(definition, definitionSchema, '')).toEqual([]);
  });

  test('becomes a model with all its versions, and is established', () => {
    const model = modelFromDefinition(definition);
    expect(model.versions.map(({ name }) => name).toSorted()).toEqual(
      definition.spec.versions.map(({ name }) => name).toSorted(),
    );
    expect(`${model.names.plural}.${model.group}`).toBe(definition.metadata.name);
    const status = definitionStatus(definition, [], '2026-01-01T00:00:00Z');
    expect(status.conditions.map(({ type, status: value }) => [type, value])).toEqual([
      ['NamesAccepted', 'True'],
      ['Established', 'True'],
    ]);
    expect(status.storedVersions).toEqual([model.storageVersion]);
  });
});

test('selectable fields become indexes', () => {
  const model = modelOf('certificates.cert-manager.io');
  expect(model.indexes).toEqual(
    ['spec.issuerRef.group', 'spec.issuerRef.kind', 'spec.issuerRef.name'].map((name) => ({
      name,
      path: name,
      type: 'string',
      multi: false,
      unique: false,
      nullable: true,
    })),
  );
  expect(model.versions[0]?.selectableFields).toEqual([
    '.spec.issuerRef.group',
    '.spec.issuerRef.kind',
    '.spec.issuerRef.name',
  ]);
});

test('the storage version may differ from the preferred one', () => {
  const model = modelOf('referencegrants.gateway.networking.k8s.io');
  expect(model.versions.map(({ name }) => name)).toEqual(['v1', 'v1beta1']);
  expect(model.storageVersion).toBe('v1beta1');
});

test('a version keeps its deprecation, subresources and columns', () => {
  const version = modelOf('tlsroutes.gateway.networking.k8s.io').versions.at(-1);
  expect(version).toMatchObject({
    name: 'v1alpha2',
    served: false,
    deprecated: true,
    subresources: { status: true },
    printerColumns: [{ name: 'Age' }],
  });
  expect(version?.deprecationWarning).toContain('has been deprecated');
});
