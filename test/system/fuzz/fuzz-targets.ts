/** The targets of requests, created by `createFuzzTargets`. */
export interface FuzzTargets {
  token: string;
  /** Collections of the models of every run. */
  posts: string;
  notes: string;
  frees: string;
  /** A model with every type of list and map; also served as v2. */
  shapes: string;
  /** Continue tokens that the server returned for `?limit=2` with this query. */
  continueTokens: readonly { search: string; token: string }[];
  /** The newest revision at the start of the run. */
  revision: number;
  /** Texts that no response may contain. */
  secrets: readonly string[];
}

export const group = 'fuzz.svc.example';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

type Call = (method: string, path: string, body?: object) => Promise<{ status: number; body: unknown }>;

const text = { type: 'string', maxLength: 1000 };
const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const postSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        title: text,
        slug: { type: 'string', pattern: '^[a-z0-9-]*$' },
        email: { type: 'string', format: 'email' },
        priority: { type: 'integer', minimum: -(2 ** 53 - 1), maximum: 2 ** 53 - 1 },
        ratio: { type: 'number' },
        draft: { type: 'boolean' },
        publishedAt: { type: 'string', format: 'date-time' },
        tags: { type: 'array', items: text, maxItems: 100 },
        colour: { type: 'string', enum: ['red', 'green'] },
        replicas: { type: 'integer' },
        parts: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: { name: text, size: { type: 'integer', default: 1 } },
          },
        },
        extra: { type: 'object', additionalProperties: text },
      },
    },
    status: { type: 'object', properties: { replicas: { type: 'integer' }, phase: text } },
  },
};

const item = { type: 'object', required: ['name'], properties: { name: text, port: { type: 'integer' }, value: free } };
const keyed = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], items: item };
const shape = {
  text,
  count: { type: 'integer' },
  flag: { type: 'boolean' },
  either: { 'x-kubernetes-int-or-string': true },
  set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
  numbers: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'number' } },
  atoms: { type: 'array', items: free },
  keyed,
  ports: {
    ...keyed,
    'x-kubernetes-list-map-keys': ['port', 'protocol'],
    items: {
      type: 'object',
      required: ['port'],
      properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' }, inner: keyed },
    },
  },
  map: { type: 'object', additionalProperties: { type: 'string' } },
  maps: { type: 'object', additionalProperties: { type: 'object', properties: { set: { ...keyed }, text } } },
  whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { text, count: { type: 'integer' } } },
  free,
};
/** The fields of a spec of `shapes`. */
export const shapeFields: readonly string[] = Object.keys(shape);

const postIndexes = [
  { name: 'spec.title', path: 'spec.title', type: 'string' },
  { name: 'spec.priority', path: 'spec.priority', type: 'integer' },
  { name: 'spec.ratio', path: 'spec.ratio', type: 'number' },
  { name: 'spec.draft', path: 'spec.draft', type: 'boolean' },
  { name: 'spec.publishedAt', path: 'spec.publishedAt', type: 'date' },
  { name: 'spec.tags', path: 'spec.tags[*]', type: 'string', multi: true },
];

/**
 * Creates models with an index of each type, namespaced and cluster-scoped, one that preserves unknown fields, and
 * thirty objects.
 */
export async function createFuzzTargets(
  call: Call,
  { token, secrets }: { token: string; secrets: readonly string[] },
): Promise<FuzzTargets> {
  await define(call, {
    kind: 'Post',
    plural: 'posts',
    scope: 'Cluster',
    schema: postSchema,
    indexes: postIndexes,
    subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
  });
  await define(call, {
    kind: 'Note',
    plural: 'notes',
    scope: 'Namespaced',
    schema: postSchema,
    indexes: [],
    subresources: {},
  });
  await define(call, {
    kind: 'Free',
    plural: 'frees',
    scope: 'Cluster',
    schema: { type: 'object', properties: { spec: free } },
    indexes: [],
    subresources: {},
  });
  const shapeSchema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { ...shape, replicas: { type: 'integer' } } },
      status: { type: 'object', properties: { ...shape, replicas: { type: 'integer' } } },
    },
  };
  await define(call, {
    kind: 'Shape',
    plural: 'shapes',
    scope: 'Cluster',
    schema: shapeSchema,
    indexes: [],
    subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
    versions: ['v1', 'v2'],
  });
  const base = `/apis/${group}/v1`;
  const posts = `${base}/posts`;
  for (let i = 0; i < 30; i += 1) {
    const metadata = { name: `p${i}`, labels: { lang: i % 2 === 0 ? 'en' : 'de', 'example.com/n': `${i}` } };
    const spec = {
      title: `Title ${i % 7}`,
      priority: i,
      ratio: i / 4,
      draft: i % 3 === 0,
      publishedAt: `2026-01-${10 + (i % 20)}T00:00:00Z`,
      tags: ['a', `t${i}`],
      replicas: i,
    };
    await demand(call, 'POST', posts, { apiVersion: `${group}/v1`, kind: 'Post', metadata, spec });
  }
  const searches = [
    '',
    'sort=spec.title',
    'sort=spec.priority,desc&sort=spec.ratio',
    'labelSelector=lang%3Den',
    'fieldSelector=spec.draft%3Dtrue&sort=spec.publishedAt',
  ];
  const continueTokens = [];
  let revision = 0;
  for (const search of searches) {
    const list = (await demand(call, 'GET', `${posts}?limit=2&${search}`)) as {
      metadata: { continue: string; resourceVersion: string };
    };
    continueTokens.push({ search, token: list.metadata.continue });
    revision = Number(list.metadata.resourceVersion);
  }
  return {
    token,
    posts,
    notes: `${base}/namespaces/default/notes`,
    frees: `${base}/frees`,
    shapes: `${base}/shapes`,
    continueTokens,
    revision,
    secrets,
  };
}

interface Definition {
  kind: string;
  plural: string;
  scope: string;
  schema: object;
  indexes: object[];
  subresources: object;
  /** The first is stored. Default: v1. */
  versions?: string[];
}

async function define(
  call: Call,
  { kind, plural, scope, schema, indexes, subresources, versions: served = ['v1'] }: Definition,
): Promise<void> {
  const versions = served.map((name, at) => ({
    name,
    served: true,
    storage: at === 0,
    schema: { openAPIV3Schema: schema },
    ...(at === 0 ? { indexes } : {}),
    subresources,
  }));
  const spec = { group, scope, names: { kind, plural, singular: kind.toLowerCase() }, versions };
  await demand(call, 'POST', definitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec,
  });
  const deadline = Date.now() + 20_000;
  while ((await call('GET', `/apis/${group}/v1/${plural}?limit=1`)).status !== 200) {
    if (Date.now() > deadline) throw new Error(`${plural} are not served`);
  }
}

async function demand(call: Call, method: string, path: string, body?: object): Promise<unknown> {
  const answer = await call(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
