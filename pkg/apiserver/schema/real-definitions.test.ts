import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import type { JsonObject, JsonSchema } from '#pkg/apimachinery/index';
import { compileSchemaValidator, type SchemaValidator } from './schema-validator.ts';
import { validateStructuralSchema } from './structural/structural-schema.ts';

interface Definition {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: JsonSchema } }[];
  };
}

interface Example extends JsonObject {
  apiVersion: string;
  kind: string;
}

interface RealSchema {
  id: string;
  schema: JsonSchema;
}

/** Definitions and objects of public projects, stored outside the repository; without them these tests are skipped. */
const data = new URL('../../../../shared/data/', import.meta.url);
const here = existsSync(data) ? describe : describe.skip;

here('definitions in use', () => {
  const schemas = existsSync(data) ? ['gateway-api', 'cert-manager'].flatMap(readDefinitions) : [];

  test.each(schemas)('$id is a legal structural schema', ({ schema }) => {
    expect(validateStructuralSchema(schema, 'schema')).toEqual([]);
  });

  test('the objects that come with them have a model, are valid, and are unchanged by pruning', () => {
    const validators = new Map<string, SchemaValidator>(
      schemas.map(({ id, schema }) => [id, compileSchemaValidator(schema)]),
    );
    let tested = 0;
    for (const object of readExamples()) {
      const validator = validators.get(`${object.apiVersion}/${object.kind}`);
      if (validator === undefined) continue;
      expect(validator.prune(object)).toEqual([]);
      validator.applyDefaults(object);
      expect(validator.validate(object)).toEqual([]);
      tested++;
    }
    expect(tested).toBeGreaterThan(40);
  });
});

function readDefinitions(project: string): RealSchema[] {
  const folder = new URL(`${project}/crds/`, data);
  return readdirSync(fileURLToPath(folder)).flatMap((file) => {
    const { spec } = parse(readFileSync(new URL(file, folder), 'utf8')) as Definition;
    return spec.versions.map((version) => ({
      id: `${spec.group}/${version.name}/${spec.names.kind}`,
      schema: version.schema.openAPIV3Schema,
    }));
  });
}

function readExamples(): Example[] {
  const folder = new URL('gateway-api/examples/', data);
  return readdirSync(fileURLToPath(folder))
    .flatMap((file) => parseAllDocuments(readFileSync(new URL(file, folder), 'utf8')))
    .map((document) => document.toJS() as Example | null)
    .filter((object) => object !== null);
}
