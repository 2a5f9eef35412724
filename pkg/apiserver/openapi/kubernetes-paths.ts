import type { GroupVersionKind, JsonObject, Model, ModelVersion } from '#pkg/apimachinery/index';
import { scaleKind } from '../rest/scale-object.ts';
import { tableMediaType } from '../handlers/answer/table-text.ts';
import { patchMediaTypes, patchTypesOf, type PatchTypes } from '../handlers/write/patch.ts';
import { deleteOptionsName, reference, scaleName, schemaName, statusName, tableName } from './kubernetes-schema.ts';
import { resourcePaths } from './resource-paths.ts';

type Action = 'list' | 'post' | 'deletecollection' | 'get' | 'put' | 'patch' | 'delete';

interface Target {
  kind: GroupVersionKind;
  /** Name of the schema of bodies and answers. */
  schema: string;
  listSchema?: string;
  patchTypes: PatchTypes;
}

const nameParameter = inPath('name', 'name of the object');
const namespaceParameter = inPath('namespace', 'namespace of the object');
const dryRun = inQuery('dryRun', 'string', 'All: the whole request is processed, but nothing is stored');
const fieldManager = inQuery('fieldManager', 'string', 'name of who makes the change');
const fieldValidation = inQuery(
  'fieldValidation',
  'string',
  'what becomes of unknown and duplicate fields: Ignore, Warn or Strict',
);
const force = inQuery('force', 'boolean', 'takes fields over from other managers; for apply alone');
const includeObject = inQuery('includeObject', 'string', 'what the rows of a Table hold: None, Metadata or Object');
const selectors = [
  inQuery('labelSelector', 'string', 'restricts the list by labels'),
  inQuery('fieldSelector', 'string', 'restricts the list by fields'),
];
const listing = [
  ...selectors,
  inQuery('limit', 'integer', 'most objects in one answer'),
  inQuery('continue', 'string', 'token of the chunk before'),
  inQuery('resourceVersion', 'string', 'the state to read'),
  inQuery('resourceVersionMatch', 'string', 'how resourceVersion is meant'),
  inQuery('sendInitialEvents', 'boolean', 'begins a watch with the objects there are'),
  inQuery('timeoutSeconds', 'integer', 'how long to watch'),
  inQuery('watch', 'boolean', 'watches for changes instead of listing'),
  inQuery('allowWatchBookmarks', 'boolean', 'asks for bookmarks in a watch'),
  includeObject,
];
const deleting = [
  dryRun,
  inQuery('gracePeriodSeconds', 'integer', 'without effect'),
  inQuery('propagationPolicy', 'string', 'Background, Foreground or Orphan'),
];

const actionParameters: Record<Action, JsonObject[]> = {
  list: listing,
  post: [dryRun, fieldManager, fieldValidation],
  deletecollection: [...selectors, ...deleting],
  get: [includeObject],
  put: [dryRun, fieldManager, fieldValidation],
  patch: [dryRun, fieldManager, fieldValidation, force],
  delete: deleting,
};
const actionMethods: Record<Action, string> = {
  list: 'get',
  post: 'post',
  deletecollection: 'delete',
  get: 'get',
  put: 'put',
  patch: 'patch',
  delete: 'delete',
};

/**
 * Paths and operations of one version. Clients use the kinds and the parameters: kubectl refuses to write if PATCH does
 * not accept fieldValidation.
 */
export function kubernetesPaths(model: Model, { name: version, subresources }: ModelVersion): [string, JsonObject][] {
  const { everywhere, collection, object } = resourcePaths(model, version);
  const kind = { group: model.group, version, kind: model.names.kind };
  const target: Target = {
    kind,
    schema: schemaName(kind),
    listSchema: schemaName({ ...kind, kind: model.names.listKind }),
    patchTypes: patchTypesOf(model),
  };
  const inCollection = everywhere === undefined ? [] : [namespaceParameter];
  const inObject = [...inCollection, nameParameter];
  const paths: [string, JsonObject][] = [
    [collection, pathItem(target, inCollection, ['list', 'post', 'deletecollection'])],
    [object, pathItem(target, inObject, ['get', 'put', 'patch', 'delete'])],
  ];
  if (everywhere !== undefined) paths.push([everywhere, pathItem(target, [], ['list'])]);
  if (subresources.status) paths.push([`${object}/status`, pathItem(target, inObject, ['get', 'put', 'patch'])]);
  if (subresources.scale !== undefined)
    paths.push([
      `${object}/scale`,
      pathItem({ kind: scaleKind, schema: scaleName, patchTypes: patchTypesOf() }, inObject, ['get', 'put', 'patch']),
    ]);
  return paths;
}

function pathItem(target: Target, parameters: JsonObject[], actions: readonly Action[]): JsonObject {
  const operations = actions.map((action) => [actionMethods[action], operation(target, action)]);
  return { ...Object.fromEntries(operations), ...(parameters.length === 0 ? {} : { parameters }) };
}

function operation({ kind, schema, listSchema = schema, patchTypes }: Target, action: Action): JsonObject {
  const parameters = actionParameters[action];
  const answer =
    action === 'list' ? listSchema : action === 'delete' || action === 'deletecollection' ? statusName : schema;
  const body = requestBody(action, { schema, patchTypes });
  return {
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      [action === 'post' ? '201' : '200']: {
        description: 'OK',
        content: {
          'application/json': { schema: reference(answer) },
          ...(answer === statusName ? {} : { [tableMediaType]: { schema: reference(tableName) } }),
        },
      },
      '401': { description: 'Unauthorized' },
    },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { ...kind },
  };
}

function requestBody(
  action: Action,
  { schema, patchTypes }: Pick<Target, 'schema' | 'patchTypes'>,
): JsonObject | undefined {
  switch (action) {
    case 'post':
    case 'put':
      return {
        required: true,
        content: {
          'application/json': { schema: reference(schema) },
          'application/yaml': { schema: reference(schema) },
        },
      };
    case 'patch':
      return {
        required: true,
        content: Object.fromEntries(
          patchTypes.map((type) => [
            type,
            {
              schema: type === patchMediaTypes.json ? { type: 'array', items: { type: 'object' } } : { type: 'object' },
            },
          ]),
        ),
      };
    case 'delete':
    case 'deletecollection':
      return {
        content: {
          'application/json': { schema: reference(deleteOptionsName) },
          'application/yaml': { schema: reference(deleteOptionsName) },
        },
      };
    default:
      return undefined;
  }
}

function inQuery(name: string, type: string, description: string): JsonObject {
  return { name, in: 'query', description, schema: { type, uniqueItems: true } };
}

function inPath(name: string, description: string): JsonObject {
  return { name, in: 'path', required: true, description, schema: { type: 'string', uniqueItems: true } };
}
