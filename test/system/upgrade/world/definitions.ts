import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { Json } from '../api-client.ts';

export const group = 'upgrade.example.com';
export const booksPath = `/apis/${group}/v1/namespaces/library/books`;
export const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const namespacesPath = '/api/v1/namespaces';

/** Every database feature of a model: indexes of each kind, a unique one, a second version, status, defaults. */
export const booksDefinition: Json = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `books.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'books', kind: 'Book' },
    versions: [version('v1', true), version('v2', false)],
  },
};

function version(name: string, storage: boolean): Json {
  const spec = {
    type: 'object',
    properties: {
      title: { type: 'string' },
      isbn: { type: 'string' },
      year: { type: 'integer' },
      authors: { type: 'array', items: { type: 'string' } },
      language: { type: 'string', default: 'en' },
    },
  };
  return {
    name,
    served: true,
    storage,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec, status: { type: 'object', properties: { lent: { type: 'boolean' } } } },
      },
    },
    subresources: { status: {} },
    indexes: [
      { name: 'isbn', path: 'spec.isbn', type: 'string', unique: true },
      { name: 'year', path: 'spec.year', type: 'integer' },
      { name: 'authors', path: 'spec.authors[*]', type: 'string' },
    ],
  };
}

export function book(name: string, number: number, more: Json = {}): Json {
  return {
    apiVersion: `${group}/v1`,
    kind: 'Book',
    metadata: { name, labels: { shelf: String(number % 7) }, ...more },
    spec: {
      title: `Über ${name} \u{1F4D6}`,
      isbn: `isbn-${name}`,
      year: 1900 + (number % 100),
      authors: [`author ${number % 5}`, 'Ω'],
    },
  };
}

/** Definitions and objects of other projects, if the folder exists. */
export function realDefinitions(): Json[] {
  const data = fileURLToPath(new URL('../../../../../shared/data', import.meta.url));
  return ['cert-manager/crds', 'gateway-api/crds']
    .flatMap((name) => documents(join(data, name)))
    .filter(({ kind }) => kind === 'CustomResourceDefinition');
}

export function realObjects(): Json[] {
  return documents(fileURLToPath(new URL('../../../../../shared/data/gateway-api/examples', import.meta.url)));
}

function documents(folder: string): Json[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .toSorted();
  return files
    .flatMap((name) =>
      parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map((document) => document.toJS() as Json | null),
    )
    .filter((document) => document !== null);
}
