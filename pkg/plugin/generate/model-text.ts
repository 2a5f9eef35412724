import { isJsonObject, type JsonSchema, type Model, type ModelVersion } from '#pkg/apimachinery/index';
import { docComment, stringLiteral } from './source-text.ts';
import type { TypeNames } from './type-names.ts';
import { membersText, typeText } from './type-text.ts';

/** Fields of the platform, or generated separately. */
const commonFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);

/** The types of one version of a model, its ResourceType and its client. */
export function modelText(model: Model, version: ModelVersion, names: TypeNames): string {
  const { spec, status } = partsOf(version.schema);
  return [
    ...(spec === undefined ? [] : [declaration(names.spec, spec)]),
    ...(status === undefined ? [] : [declaration(names.status, status)]),
    objectText(version.schema, names),
    resourceTypeText(model, version, names),
    clientText(model, version, names),
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

function resourceTypeText({ group, names, scope }: Model, version: ModelVersion, { object }: TypeNames): string {
  const fields = [
    `group: ${stringLiteral(group)}`,
    `version: ${stringLiteral(version.name)}`,
    `kind: ${stringLiteral(names.kind)}`,
    `plural: ${stringLiteral(names.plural)}`,
    `namespaced: ${scope === 'Namespaced'}`,
    `hasStatusSubresource: ${version.subresources.status}`,
  ];
  return `export const ${object}: svc.ResourceType<${object}> = {\n${fields.map((field) => `  ${field},\n`).join('')}};\n`;
}

/** Objects of a cluster-scoped model are identified by name alone. */
function clientText({ scope }: Model, { subresources }: ModelVersion, { object, client }: TypeNames): string {
  const isNamespaced = scope === 'Namespaced';
  const key = isNamespaced ? 'key: svc.ObjectKey' : 'name: string';
  const givenKey = isNamespaced ? 'key' : "{ namespace: '', name }";
  const stored = `svc.Stored<${object}>`;
  const method = (name: string, parameters: string, given: string, result: string): string =>
    `  ${name}(${parameters}): Promise<${result}> {\n    return this.#client.${name}(${object}, ${given});\n  }\n`;
  const methods = [
    method('get', `${key}, options?: svc.RequestOptions`, `${givenKey}, options`, stored),
    method('list', 'options?: svc.ListOptions', 'options', `svc.ObjectList<${object}>`),
    method('watch', 'options: svc.WatchOptions', 'options', `svc.EventStream<${object}>`),
    method('create', `object: ${object}, options?: svc.WriteOptions`, 'object, options', stored),
    method('update', `object: ${object}, options?: svc.WriteOptions`, 'object, options', stored),
    method('patch', `${key}, patch: svc.Patch, options?: svc.WriteOptions`, `${givenKey}, patch, options`, stored),
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
        ]
      : []),
  ];
  const constructor =
    '  readonly #client: svc.Client;\n\n  constructor(client: svc.Client) {\n    this.#client = client;\n  }\n';
  return `/** ${object} through a Client. */\nexport class ${client} {\n${[constructor, ...methods].join('\n')}}\n`;
}
