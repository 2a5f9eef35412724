import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { chartFolder } from './render-chart.ts';
import { pageWithTable, valuesOf } from '../../../hack/helm/values-table.mjs';

interface Schema {
  $ref?: string;
  type?: unknown;
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  definitions?: Record<string, Schema>;
}

const schema = JSON.parse(readFileSync(join(chartFolder, 'values.schema.json'), 'utf8')) as Schema;
const values = parse(readFileSync(join(chartFolder, 'values.yaml'), 'utf8')) as unknown;

function resolved({ $ref, ...rest }: Schema): Schema {
  return $ref === undefined ? rest : schema.definitions![$ref.replace('#/definitions/', '')]!;
}

/** The paths in a schema, `a.b.c`, including inner ones. */
function pathsOf(within: Schema, path: readonly string[] = []): string[] {
  return Object.entries(resolved(within).properties ?? {}).flatMap(([name, inner]) => [
    [...path, name].join('.'),
    ...pathsOf(inner, [...path, name]),
  ]);
}

test('every value is in the schema, which allows no others if the chart defines the value', () => {
  const known = pathsOf(schema);
  const named = valuesOf().map(({ name }) => name);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
  const open = ({ properties, additionalProperties }: Schema): boolean =>
    properties !== undefined && additionalProperties !== false;
  const openPaths = (within: Schema, path = ''): string[] =>
    Object.entries(resolved(within).properties ?? {}).flatMap(([name, inner]) => [
      ...(open(resolved(inner)) ? [`${path}.${name}`] : []),
      ...openPaths(inner, `${path}.${name}`),
    ]);
  expect([...(open(schema) ? ['.'] : []), ...openPaths(schema)]).toEqual([]);
});

test('the schema has no property without a value', () => {
  const named = valuesOf().map(({ name }) => name);
  // Helm's own paths, and entries of maps that are one value.
  const isWithin = (path: string): boolean =>
    path === 'global' ||
    named.some((name) => path.startsWith(`${name}.`) || name === path || name.startsWith(`${path}.`));
  expect(pathsOf(schema).filter((path) => !isWithin(path))).toEqual([]);
});

test('the default values are valid', () => {
  expect(new Ajv({ strict: false }).validate(schema, values)).toBe(true);
});

test('each value has a description, and docs/chart.md has the same table', () => {
  expect(
    valuesOf()
      .filter(({ doc }) => doc === undefined || doc === '')
      .map(({ name }) => name),
  ).toEqual([]);
  const page = readFileSync(new URL('../../../docs/chart.md', import.meta.url), 'utf8');
  // Updated by node hack/helm/values-table.mjs.
  expect(page).toBe(pageWithTable(page));
});
