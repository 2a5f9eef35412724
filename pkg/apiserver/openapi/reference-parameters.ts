import { builtinIndexes, type IndexDefinition, type JsonObject } from '#pkg/apimachinery/index';
import { includeObjects } from '../handlers/answer/table-text.ts';

const repeated = { style: 'form', explode: true };

/** Parameters that are the same for every model: `components.parameters` of the reference. */
export const referenceParameters = {
  name: { name: 'name', in: 'path', required: true, description: 'Name of the object.', schema: { type: 'string' } },
  namespace: {
    name: 'namespace',
    in: 'path',
    required: true,
    description: 'Namespace of the object.',
    schema: { type: 'string' },
  },
  page: inQuery(
    'page',
    { type: 'integer', minimum: 0 },
    'Page number, from 1. Alone it means a size of 20; 0 means absent. Not together with limit or continue.',
  ),
  size: inQuery(
    'size',
    { type: 'integer', minimum: 0 },
    'Objects on a page; above the maximum (1000 unless configured) it is clamped, with a Warning. Alone it means page 1; 0 means absent.',
  ),
  labelSelector: {
    ...inQuery(
      'labelSelector',
      { type: 'array', items: { type: 'string' } },
      'All must hold; a comma is "and" too. `k=v`, `k!=v` (also where the label is absent), `k`, `!k`, `k=(a,b)`, `k in (a,b)`, `k notin (a,b)`.',
    ),
    ...repeated,
  },
  limit: inQuery(
    'limit',
    { type: 'integer', minimum: 0 },
    'Most objects in one answer; `metadata.continue` leads to the next, at the same resourceVersion. Not together with page or size.',
  ),
  continue: inQuery('continue', { type: 'string' }, '`metadata.continue` of the answer before.'),
  exactTotal: inQuery(
    'exactTotal',
    { type: 'boolean' },
    'Counts all matches, where `total` would be a lower bound otherwise.',
  ),
  resourceVersion: inQuery(
    'resourceVersion',
    { type: 'string' },
    'Of a list: a state at least as new. Of a watch: where it begins.',
  ),
  resourceVersionMatch: inQuery(
    'resourceVersionMatch',
    { type: 'string', enum: ['Exact', 'NotOlderThan'] },
    'How resourceVersion is meant.',
  ),
  includeObject: inQuery(
    'includeObject',
    { type: 'string', enum: [...includeObjects], default: 'Metadata' },
    'Of a Table: what its rows hold besides their cells.',
  ),
  watch: inQuery(
    'watch',
    { type: 'boolean' },
    'Answers with a stream of changes instead of a list; with `Accept: text/event-stream` as server-sent events.',
  ),
  allowWatchBookmarks: inQuery(
    'allowWatchBookmarks',
    { type: 'boolean' },
    'Of a watch: now and then a BOOKMARK tells how far it is.',
  ),
  sendInitialEvents: inQuery(
    'sendInitialEvents',
    { type: 'boolean' },
    'Of a watch: begins with the objects there are. Needs resourceVersionMatch=NotOlderThan.',
  ),
  timeoutSeconds: inQuery('timeoutSeconds', { type: 'integer', minimum: 0 }, 'Of a watch: when it ends.'),
  lastEventId: inHeader(
    'Last-Event-ID',
    'Of a watch as server-sent events: goes on after this event; wins over resourceVersion.',
  ),
  dryRun: inQuery('dryRun', { type: 'string', enum: ['All'] }, 'Does everything but store.'),
  fieldValidation: inQuery(
    'fieldValidation',
    { type: 'string', enum: ['Ignore', 'Warn', 'Strict'], default: 'Warn' },
    'What becomes of unknown and duplicate fields: dropped, dropped with a Warning, or refused with 400.',
  ),
  fieldManager: inQuery(
    'fieldManager',
    { type: 'string', maxLength: 128 },
    'Name of who makes the change. An apply patch needs it.',
  ),
  force: inQuery(
    'force',
    { type: 'boolean' },
    'Of an apply patch: takes the fields that other managers own, which is 409 otherwise.',
  ),
  propagationPolicy: inQuery(
    'propagationPolicy',
    { type: 'string', enum: ['Background', 'Foreground', 'Orphan'] },
    'What becomes of dependants.',
  ),
  ifMatch: inHeader('If-Match', 'An ETag: 412 unless the stored object has it.'),
  ifNoneMatch: inHeader('If-None-Match', 'An ETag: 304 if the object still has it.'),
  idempotencyKey: inHeader(
    'Idempotency-Key',
    'The same key again, with the same body, within 24 hours: the first outcome again.',
  ),
  fence: inHeader(
    'X-SVC-Fence',
    '`<namespace>/<lease>@<transitions>`: 409 unless somebody holds that Lease, after as many transitions.',
  ),
} satisfies Record<string, JsonObject>;

export type ReferenceParameter = keyof typeof referenceParameters;

export function parameterReferences(...names: ReferenceParameter[]): JsonObject[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** The two parameters that differ by model: their values are names of its fields. */
export function fieldParameters(indexes: readonly IndexDefinition[]): JsonObject[] {
  const all = [...builtinIndexes, ...indexes];
  const sortable = all.filter(({ multi }) => !multi).map(({ name }) => name);
  return [
    {
      ...inQuery(
        'fieldSelector',
        { type: 'array', items: { type: 'string' } },
        `${selectorForms} Fields: ${all.map(fieldText).join(', ')}; \`name\` is short for \`metadata.name\`.`,
      ),
      ...repeated,
      'x-fields': all.map(({ name, type, multi }) => ({ name, type, multi })),
    },
    {
      ...inQuery(
        'sort',
        {
          type: 'array',
          maxItems: 8,
          items: {
            type: 'string',
            enum: ['name', ...sortable].flatMap((name) => [name, `${name},asc`, `${name},desc`]),
          },
        },
        `\`<field>[,asc|desc]\`, in priority order; ascending by default, ties broken by namespace and name. Fields: ${sortable.map(code).join(', ')}.`,
      ),
      ...repeated,
    },
  ];
}

const selectorForms =
  'All must hold; a comma is "and" too. `f=v`, `f!=v` (also where the field is absent), `f=(a,b)`, `f in (a,b)`, `f notin (a,b)`, `f>v`, `f>=v`, `f<v`, `f<=v`, `f^=prefix`, `f` (not null), `!f` (null). A backslash escapes `,`, `=` and itself.';

function fieldText({ name, type, multi }: IndexDefinition): string {
  return `${code(name)} (${type}${multi ? ', several values' : ''})`;
}

function code(text: string): string {
  return `\`${text}\``;
}

function inQuery(name: string, schema: JsonObject, description: string): JsonObject {
  return { name, in: 'query', description, schema };
}

function inHeader(name: string, description: string): JsonObject {
  return { name, in: 'header', description, schema: { type: 'string' } };
}
