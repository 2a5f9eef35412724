import type { GroupVersionKind, JsonObject, Model, ModelVersion } from '#pkg/apimachinery/index';
import { tableMediaType } from '../handlers/answer/table-text.ts';
import { applyPatchType } from '../handlers/write/apply.ts';
import { patchMediaTypes, patchTypesOf } from '../handlers/write/patch.ts';
import { exampleObject } from './example-object.ts';
import { reference, schemaName } from './kubernetes-schema.ts';
import { failureResponses } from './reference-components.ts';
import { fieldParameters, parameterReferences } from './reference-parameters.ts';
import { resourcePaths } from './resource-paths.ts';

const maxExampleLength = 16_384;
const watchParameters = ['watch', 'allowWatchBookmarks', 'sendInitialEvents', 'timeoutSeconds', 'lastEventId'] as const;
const writeParameters = ['dryRun', 'fieldValidation', 'fieldManager', 'idempotencyKey', 'fence'] as const;

/** `blog.example.com/v1 Post`: the page groups operations by this tag. */
export function tagName({ group, version, kind }: GroupVersionKind): string {
  return `${group === '' ? '' : `${group}/`}${version} ${kind}`;
}

/**
 * `listPost_blog_example_com_v1`: unique in a document with kinds of many groups and versions, and independent of other
 * registrations. A dot becomes `_` and a hyphen `__`; other operations than the plain ones of a kind have a capitalized
 * word at the end.
 */
export function operationId(verb: string, { group, version, kind }: GroupVersionKind, part = ''): string {
  const place = [...(group === '' ? [] : group.split('.')), version].map(identifier).join('_');
  return `${verb}${identifier(kind)}_${place}${part === '' ? '' : `_${part}`}`;
}

/** All operations of one version of one model. */
export class ReferenceOperations {
  readonly #model: Model;
  readonly #version: ModelVersion;
  readonly #kind: GroupVersionKind;
  readonly #schema: string;
  readonly #example: { example?: JsonObject };

  constructor(model: Model, version: ModelVersion) {
    this.#model = model;
    this.#version = version;
    this.#kind = { group: model.group, version: version.name, kind: model.names.kind };
    this.#schema = schemaName(this.#kind);
    const example = exampleObject(version.schema, this.#kind, model.scope);
    // A schema may have a default of any size.
    this.#example = JSON.stringify(example).length > maxExampleLength ? {} : { example };
  }

  paths(): [string, JsonObject][] {
    const { everywhere, collection, object } = resourcePaths(this.#model, this.#version.name);
    const inCollection = everywhere === undefined ? [] : parameterReferences('namespace');
    const parameters = [...inCollection, ...parameterReferences('name')];
    const { status, scale } = this.#version.subresources;
    const paths: [string, JsonObject][] = [
      [
        collection,
        {
          ...(inCollection.length === 0 ? {} : { parameters: inCollection }),
          get: this.#list(),
          post: this.#create(),
          delete: this.#deleteCollection(),
        },
      ],
      [object, { parameters, get: this.#get(), put: this.#update(), patch: this.#patch(), delete: this.#delete() }],
    ];
    if (everywhere !== undefined) paths.push([everywhere, { get: this.#list('AllNamespaces') }]);
    if (status)
      paths.push([
        `${object}/status`,
        { parameters, get: this.#get('Status'), put: this.#update('Status'), patch: this.#patch('Status') },
      ]);
    if (scale !== undefined)
      paths.push([
        `${object}/scale`,
        { parameters, get: this.#get('Scale'), put: this.#update('Scale'), patch: this.#patch('Scale') },
      ]);
    return paths;
  }

  #list(part = ''): JsonObject {
    const { plural, listKind } = this.#model.names;
    return {
      ...this.#head('list', `List or watch ${plural}${part === '' ? '' : ' of all namespaces'}`, part),
      parameters: [
        ...parameterReferences('page', 'size'),
        ...fieldParameters(this.#model.indexes),
        ...parameterReferences(
          'labelSelector',
          'limit',
          'continue',
          'exactTotal',
          'resourceVersion',
          'resourceVersionMatch',
          'includeObject',
          ...watchParameters,
        ),
      ],
      responses: {
        '200': {
          description: 'The list, or with `watch=true` a stream of changes.',
          content: {
            ...bodies(schemaName({ ...this.#kind, kind: listKind })),
            'application/json;stream=watch': { schema: reference('WatchEvent') },
            'text/event-stream': {
              schema: {
                type: 'string',
                description: 'Server-sent events: `data` is a WatchEvent, `id` its resourceVersion.',
              },
            },
          },
        },
        ...failureResponses(400, 401, 403, 404, 406, 410, 422, 429, 503, 504),
      },
    };
  }

  #create(): JsonObject {
    return {
      ...this.#head('create', `Create a ${this.#kind.kind}`),
      parameters: parameterReferences(...writeParameters),
      requestBody: this.#body(''),
      responses: {
        '201': {
          description: 'Created.',
          headers: { Location: { description: 'Where the object is.', schema: { type: 'string' } } },
          content: bodies(this.#schema),
        },
        ...failureResponses(400, 401, 403, 404, 406, 409, 413, 415, 422, 429),
      },
    };
  }

  #deleteCollection(): JsonObject {
    const [fieldSelector] = fieldParameters(this.#model.indexes);
    return {
      ...this.#head('delete', `Delete all selected ${this.#model.names.plural}`, 'Collection'),
      parameters: [fieldSelector!, ...parameterReferences('labelSelector', 'dryRun', 'propagationPolicy', 'fence')],
      responses: {
        '200': {
          description: 'Done.',
          content: bodies(schemaName({ ...this.#kind, kind: this.#model.names.listKind })),
        },
        ...failureResponses(400, 401, 403, 404, 409, 422, 429),
      },
    };
  }

  #get(part: '' | 'Status' | 'Scale' = ''): JsonObject {
    return {
      ...this.#head('get', `Read ${summaryOf(this.#kind, part)}`, part),
      parameters: parameterReferences('resourceVersion', 'includeObject', 'ifNoneMatch'),
      responses: {
        '200': {
          description: 'The object.',
          headers: { ETag: { description: 'The resourceVersion, in quotes.', schema: { type: 'string' } } },
          content: bodies(this.#schemaOf(part)),
        },
        '304': { description: 'The client holds this very object.' },
        ...failureResponses(400, 401, 403, 404, 406, 429),
      },
    };
  }

  #update(part: '' | 'Status' | 'Scale' = ''): JsonObject {
    return {
      ...this.#head('update', `Replace ${summaryOf(this.#kind, part)}`, part),
      parameters: parameterReferences('ifMatch', ...writeParameters),
      requestBody: this.#body(part),
      responses: this.#written(part),
    };
  }

  #patch(part: '' | 'Status' | 'Scale' = ''): JsonObject {
    return {
      ...this.#head('patch', `Change ${summaryOf(this.#kind, part)}`, part),
      description:
        'By merge patch, JSON patch, or server-side apply (`application/apply-patch+yaml`): the object as its field manager wants it, with no other fields; 409 where another manager owns a field. Apply creates an object that does not exist.',
      parameters: parameterReferences('ifMatch', ...writeParameters, 'force'),
      requestBody: {
        required: true,
        content: Object.fromEntries(
          patchTypesOf(part === 'Scale' ? {} : this.#model).map((type) => [type, this.#patchBody(type, part)]),
        ),
      },
      responses: {
        ...(part === '' ? { '201': { description: 'Created by apply.', content: bodies(this.#schema) } } : {}),
        ...this.#written(part),
      },
    };
  }

  #patchBody(type: string, part: '' | 'Status' | 'Scale'): JsonObject {
    switch (type) {
      case patchMediaTypes.json:
        return { schema: reference('JsonPatch') };
      case applyPatchType:
        return { schema: reference(this.#schemaOf(part)), ...(part === 'Scale' ? {} : this.#example) };
      default:
        return { schema: { type: 'object' }, example: { metadata: { labels: { 'example.com/reviewed': 'true' } } } };
    }
  }

  #delete(): JsonObject {
    return {
      ...this.#head('delete', `Delete a ${this.#kind.kind}`),
      parameters: parameterReferences('ifMatch', 'dryRun', 'propagationPolicy', 'idempotencyKey', 'fence'),
      requestBody: { required: false, content: { 'application/json': { schema: reference('DeleteOptions') } } },
      responses: {
        '200': {
          description: 'Deleted; or marked for deletion, while finalizers hold the object.',
          content: { 'application/json': { schema: { anyOf: [reference('Status'), reference(this.#schema)] } } },
        },
        ...failureResponses(400, 401, 403, 404, 409, 412, 422, 429),
      },
    };
  }

  #head(verb: string, summary: string, part = ''): JsonObject {
    return {
      operationId: operationId(verb, this.#kind, part),
      summary,
      tags: [tagName(this.#kind)],
      ...(this.#version.deprecated ? { deprecated: true } : {}),
    };
  }

  #body(part: '' | 'Status' | 'Scale'): JsonObject {
    const schema = reference(this.#schemaOf(part));
    const json = part === 'Scale' ? { schema } : { schema, ...this.#example };
    return { required: true, content: { 'application/json': json, 'application/yaml': { schema } } };
  }

  #written(part: '' | 'Status' | 'Scale'): JsonObject {
    return {
      '200': { description: 'The object as it is now.', content: bodies(this.#schemaOf(part)) },
      ...failureResponses(400, 401, 403, 404, 406, 409, 412, 413, 415, 422, 429),
    };
  }

  #schemaOf(part: '' | 'Status' | 'Scale'): string {
    return part === 'Scale' ? 'Scale' : this.#schema;
  }
}

function bodies(schema: string): JsonObject {
  return {
    'application/json': { schema: reference(schema) },
    'application/yaml': { schema: reference(schema) },
    [tableMediaType]: { schema: reference('Table') },
  };
}

function summaryOf({ kind }: GroupVersionKind, part: string): string {
  return part === '' ? `a ${kind}` : `the ${part.toLowerCase()} of a ${kind}`;
}

function identifier(text: string): string {
  return text.replaceAll('-', '__');
}
