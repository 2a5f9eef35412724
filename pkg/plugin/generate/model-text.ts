import {
  isJsonObject,
  listKeysOf,
  type IndexType,
  type JsonSchema,
  type Model,
  type ModelVersion,
} from '#pkg/apimachinery/index';
import { docComment, propertyName, stringLiteral } from './source-text.ts';
import type { TypeNames } from './type-names.ts';
import { membersText, typeText } from './type-text.ts';

/** Fields of the platform, or generated separately. */
const commonFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);

/** Where the code runs: with a Client, or in a page with `@svc/client`. */
export type TypesTarget = 'node' | 'browser';

/** The types of one version of a model, its indexes, its IndexedResourceType or WebModel, and its client, which a browser has already. */
export function modelText(
  model: Model,
  version: ModelVersion,
  { target, names }: { target: TypesTarget; names: TypeNames },
): string {
  const { spec, status } = partsOf(version.schema);
  return [
    ...(spec === undefined ? [] : [declaration(names.spec, spec)]),
    ...(status === undefined ? [] : [declaration(names.status, status)]),
    objectText(version.schema, names),
    indexesText(model, names),
    ...(target === 'node'
      ? [resourceTypeText(model, version, names), clientText(model, version, names)]
      : [webModelText(model, version, names)]),
  ].join('\n');
}

function partsOf({ properties }: JsonSchema): { spec?: unknown; status?: unknown } {
  const declared: Record<string, unknown> = isJsonObject(properties) ? properties : {};
  return {
    ...(Object.hasOwn(declared, 'spec') ? { spec: declared['spec'] } : {}),
    ...(Object.hasOwn(declared, 'status') ? { status: declared['status'] } : {}),
  };
}

function declaration(name: string, schema: unknown): string {
  const doc = isJsonObject(schema)
    ? docComment([typeof schema['description'] === 'string' ? schema['description'] : undefined])
    : '';
  const text = typeText(schema, '');
  return text.startsWith('{\n') && text.endsWith('\n}')
    ? `${doc}export interface ${name} ${text}\n`
    : `${doc}export type ${name} = ${text};\n`;
}

function objectText(schema: JsonSchema, { object, spec, status }: TypeNames): string {
  const parts = partsOf(schema);
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const absent = isOpen ? 'svc.JsonValue' : 'never';
  const specName = 'spec' in parts ? spec : absent;
  const declared: Record<string, unknown> = isJsonObject(schema.properties) ? schema.properties : {};
  const others = Object.fromEntries(Object.entries(declared).filter(([name]) => !commonFields.has(name)));
  const isRequired = 'spec' in parts && Array.isArray(schema.required) && schema.required.includes('spec');
  const body = `${isRequired ? `  spec: ${spec};\n` : ''}${membersText({ ...schema, properties: others }, '  ')}`;
  const doc = docComment([typeof schema.description === 'string' ? schema.description : undefined]);
  return `${doc}export interface ${object} extends svc.ApiObject<${specName}, ${'status' in parts ? status : absent}> {${body === '' ? '' : `\n${body}`}}\n`;
}

function resourceTypeText(model: Model, version: ModelVersion, { object, indexes }: TypeNames): string {
  return constantText(object, `svc.IndexedResourceType<${object}, ${indexes}>`, resourceFields(model, version));
}

function webModelText(model: Model, version: ModelVersion, { object, indexes }: TypeNames): string {
  const lists = Object.entries(listKeysOf(version.schema)).map(
    ([path, keys]) => `${propertyName(path)}: [${keys.map(stringLiteral).join(', ')}]`,
  );
  return constantText(object, `svc.WebModel<${object}, ${indexes}>`, [
    ...resourceFields(model, version),
    `lists: {${lists.length === 0 ? '' : ` ${lists.join(', ')} `}}`,
  ]);
}

/** A type alias: an interface would not be a record of indexes. */
function indexesText({ indexes }: Model, { indexes: name }: TypeNames): string {
  const fields = indexes.map((index) => `  ${propertyName(index.name)}: ${indexTypes[index.type]};\n`);
  return `export type ${name} = {${fields.length === 0 ? '' : `\n${fields.toSorted().join('')}`}};\n`;
}

const indexTypes: Readonly<Record<IndexType, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  date: 'string',
};

function resourceFields({ group, names, scope }: Model, version: ModelVersion): string[] {
  return [
    `group: ${stringLiteral(group)}`,
    `version: ${stringLiteral(version.name)}`,
    `kind: ${stringLiteral(names.kind)}`,
    `plural: ${stringLiteral(names.plural)}`,
    `namespaced: ${scope === 'Namespaced'}`,
    `hasStatusSubresource: ${version.subresources.status}`,
  ];
}

function constantText(name: string, type: string, fields: readonly string[]): string {
  return `export const ${name}: ${type} = {\n${fields.map((field) => `  ${field},\n`).join('')}};\n`;
}

/** Objects of a cluster-scoped model are identified by name alone. */
function clientText({ scope }: Model, { subresources }: ModelVersion, { object, client }: TypeNames): string {
  const isNamespaced = scope === 'Namespaced';
  const key = isNamespaced ? 'key: svc.ObjectKey' : 'name: string';
  const givenKey = isNamespaced ? 'key' : "{ namespace: '', name }";
  const stored = `svc.Stored<${object}>`;
  const method = (name: string, parameters: string, given: string, result: string): string =>
    `  ${name}(${parameters}): Promise<${result}> {\n    return this.#client.${name}(${object}, ${given});\n  }\n`;
  const applyMethod = (name: string): string =>
    method(
      name,
      `configuration: svc.ApplyConfiguration<${object}>, options?: svc.ApplyOptions`,
      'configuration, options',
      stored,
    );
  const methods = [
    method('get', `${key}, options?: svc.RequestOptions`, `${givenKey}, options`, stored),
    method('list', 'options?: svc.ListOptions', 'options', `svc.ObjectList<${object}>`),
    method('watch', 'options: svc.WatchOptions', 'options', `svc.EventStream<${object}>`),
    method('create', `object: ${object}, options?: svc.WriteOptions`, 'object, options', stored),
    method('update', `object: ${object}, options?: svc.WriteOptions`, 'object, options', stored),
    method('patch', `${key}, patch: svc.Patch, options?: svc.WriteOptions`, `${givenKey}, patch, options`, stored),
    applyMethod('apply'),
    method('delete', `${key}, options?: svc.DeleteOptions`, `${givenKey}, options`, `svc.Deletion<${object}>`),
    ...(subresources.status
      ? [
          method('updateStatus', `object: ${object}, options?: svc.WriteOptions`, 'object, options', stored),
          method(
            'patchStatus',
            `${key}, patch: svc.Patch, options?: svc.WriteOptions`,
            `${givenKey}, patch, options`,
            stored,
          ),
          applyMethod('applyStatus'),
        ]
      : []),
  ];
  const constructor =
    '  readonly #client: svc.Client;\n\n  constructor(client: svc.Client) {\n    this.#client = client;\n  }\n';
  return `/** ${object} through a Client. */\nexport class ${client} {\n${[constructor, ...methods].join('\n')}}\n`;
}
