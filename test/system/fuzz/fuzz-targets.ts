/** The targets of requests, created by `createFuzzTargets`. */
export interface FuzzTargets {
  token: string;
  /** Collections of the models of every run. */
  posts: string;
  notes: string;
  frees: string;
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
}

async function define(call: Call, { kind, plural, scope, schema, indexes, subresources }: Definition): Promise<void> {
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schema },
    indexes,
    subresources,
  };
  const spec = { group, scope, names: { kind, plural, singular: kind.toLowerCase() }, versions: [version] };
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
