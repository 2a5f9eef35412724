import { get, json, type WireRequest } from '../../harness/wire/wire-request.ts';
import type { AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { headerOf, type Answer } from '../../harness/wire/answer.ts';
import { extremeSchema, schema } from './hostile-schema.ts';
import { jsonText } from './hostile-json.ts';
import { hostileText } from './hostile-text.ts';

const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const jsonPaths = [
  '.spec.a',
  'spec.a',
  '.spec.a[*]',
  '.spec[0]',
  '.spec[?(@.x==1)]',
  '..a',
  '.',
  '',
  '.metadata.name',
  '.metadata.labels',
  '.status.x',
  ".spec['a']",
  '.spec.a.b.c.d.e.f.g.h',
  '.__proto__.a',
  '.spec.constructor',
  `.${'a.'.repeat(5000)}b`,
  '{.spec.a}',
  '.spec.a[*].b[*]',
  '.spec.[*]',
];

function index(random: SeededRandom, number: number): object {
  return {
    name: random.pick([`i${number}`, 'i', 'metadata.name', '__proto__', '', hostileText(random)]),
    path: random.chance(0.6) ? random.pick(['spec.a', 'spec.a[*]', 'spec.b', 'metadata.name']) : random.pick(jsonPaths),
    type: random.pick(['string', 'integer', 'number', 'boolean', 'date', 'String', '']),
    multi: random.pick([undefined, true, false, 'x']),
    unique: random.pick([undefined, true, false]),
    nullable: random.pick([undefined, true, false, null]),
  };
}

function version(random: SeededRandom, name: string, storage: boolean): object {
  const right = random.chance(0.6);
  const spec = right
    ? extremeSchema(random)
    : random.one(
        () => extremeSchema(random),
        () => schema(random, 3),
        () => schema(random, 1),
      );
  const root =
    right || random.chance(0.85)
      ? { type: 'object', properties: { spec } }
      : random.one<unknown>(
          () => schema(random, 3),
          () => hostileText(random),
          () => null,
          () => random.pick<unknown>([1, 'x', [], [[]], true]),
        );
  const odd = !right && random.chance(0.6);
  return {
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: root },
    ...(right
      ? {
          indexes: random.some(3, (number) => ({
            name: `i${number}`,
            path: random.pick(['spec.a', 'spec.field0', 'spec.p0', 'metadata.generation']),
            type: random.pick(['string', 'integer', 'number', 'boolean', 'date']),
          })),
        }
      : {}),
    ...(odd ? { indexes: random.some(random.pick([2, 5, 40, 300]), (number) => index(random, number)) } : {}),
    ...(odd
      ? {
          additionalPrinterColumns: random.some(random.pick([2, 200]), (number) => ({
            name: random.pick([`c${number}`, hostileText(random)]),
            type: random.pick(['string', 'date', 'integer', 'x']),
            jsonPath: random.pick(jsonPaths),
            priority: random.pick([0, -1, 2 ** 40, 'x']),
          })),
        }
      : {}),
    ...(odd
      ? {
          subresources: random.pick<unknown>([
            { status: {} },
            {
              status: {},
              scale: {
                specReplicasPath: random.pick(jsonPaths),
                statusReplicasPath: random.pick(jsonPaths),
                labelSelectorPath: random.pick(jsonPaths),
              },
            },
            { scale: {} },
            { nope: {} },
            'x',
          ]),
        }
      : {}),
    ...(odd ? { selectableFields: random.some(10, () => ({ jsonPath: random.pick(jsonPaths) })) } : {}),
    ...(random.chance(0.1) ? { deprecated: true, deprecationWarning: hostileText(random) } : {}),
  };
}

function definition(random: SeededRandom, plural: string, group: string): object {
  const versions = random.chance(0.9)
    ? [version(random, 'v1', true)]
    : [
        version(random, 'v1', true),
        version(random, random.pick(['v2', 'v1', 'V1', '', hostileText(random)]), random.chance(0.2)),
      ];
  const kind = `K${plural.slice(1)}`;
  const odd = random.chance(0.1);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: odd ? hostileText(random) : `${plural}.${group}` },
    spec: {
      group: odd && random.chance(0.5) ? hostileText(random) : group,
      scope: random.pick(['Cluster', 'Cluster', 'Cluster', 'Namespaced', odd ? 'x' : 'Cluster']),
      names: {
        plural: odd && random.chance(0.5) ? hostileText(random) : plural,
        kind: odd && random.chance(0.5) ? random.pick(['__proto__', 'Object', hostileText(random)]) : kind,
        singular: odd ? hostileText(random) : undefined,
        shortNames: odd ? random.some(40, () => hostileText(random)) : undefined,
      },
      versions,
      conversion: random.chance(0.1)
        ? {
            strategy: random.pick(['Webhook', 'None', 'x', '']),
            webhook: random.pick([undefined, {}, { clientConfig: { url: 'http://127.0.0.1:1' } }]),
          }
        : undefined,
      preserveUnknownFields: random.chance(0.05) ? true : undefined,
    },
  };
}

/** Conditions and status fields that only the server may set. */
function forgedStatus(random: SeededRandom, name: string): WireRequest {
  const condition = random.pick<unknown>([
    { type: 'Established', status: 'False' },
    { type: 'Established', status: 1 },
    { type: 1, status: 'True' },
    { type: 'Mine', status: 'True' },
    {},
    null,
    'x',
    1,
    [],
    { type: '__proto__', status: 'True', lastTransitionTime: 'x' },
    { type: 'Mine', status: 'True', lastTransitionTime: 5 },
  ]);
  const status = random.pick<unknown>([
    { conditions: [condition] },
    { conditions: condition },
    { acceptedNames: 'x' },
    { acceptedNames: { plural: 1 } },
    { storedVersions: ['v9'] },
    { storedVersions: 'v1' },
    { storedVersions: [] },
    'x',
    null,
    [],
  ]);
  return {
    ...json('PATCH', `${path}/${name}/status`, { status }),
    headers: [['Content-Type', 'application/merge-patch+json']],
  };
}

function objectOf(random: SeededRandom, kind: string, group: string): string {
  const text = random.pick(['a', 'ab', 'x']).repeat(random.pick([1, 30, 1000, random.chance(0.1) ? 100_000 : 100]));
  const spec = random.one(
    () => JSON.stringify({ a: text }),
    () => JSON.stringify(Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`p${at}`, text]))),
    () => JSON.stringify(Array.from({ length: 100 }, () => text)),
    () => jsonText(random, 5),
    () => '{}',
    () => `${'{"a":'.repeat(40)}"x"${'}'.repeat(40)}`,
  );
  return `{"apiVersion":"${group}/v1","kind":"${kind}","metadata":{"name":"o"},"spec":${spec}}`;
}

/** The forged conditions must not be stored: the response has the server's own, of the right types. */
function judgeForged(answer: Answer | undefined): string | undefined {
  if (answer?.status !== 200 || headerOf(answer, 'content-type') !== 'application/json') return undefined;
  const { status } = JSON.parse(answer.body.toString()) as { status?: { conditions?: unknown } };
  const conditions = status?.conditions ?? [];
  const isRight = (each: unknown): boolean =>
    typeof each === 'object' &&
    each !== null &&
    'type' in each &&
    typeof each.type === 'string' &&
    'status' in each &&
    typeof each.status === 'string';
  return Array.isArray(conditions) && conditions.every(isRight)
    ? undefined
    : `conditions of a wrong type were stored: ${JSON.stringify(conditions).slice(0, 200)}`;
}

/**
 * Definitions with hostile schemas, patterns, names, indexes, paths and status; accepted ones get objects, lists and
 * documents, and are deleted.
 */
export const definitions: AttackArea = {
  name: 'definitions',
  weight: 0.6,
  generate(random) {
    const number = random.below(40);
    const plural = `h${number}s`;
    const group = `h${random.below(3)}.fuzz.example`;
    const name = `${plural}.${group}`;
    const collection = `/apis/${group}/v1/${plural}`;
    const create = json('POST', path, definition(random, plural, group));
    const kind = `K${plural.slice(1)}`;
    const forged = forgedStatus(random, name);
    const requests = [
      create,
      ...random.some(3, () => json('POST', collection, objectOf(random, kind, group))),
      get(
        `${collection}?fieldSelector=${encodeURIComponent(random.pick(['i0=1', 'i1>2', 'spec.a=x', '__proto__=1']))}`,
      ),
      get(`/openapi/v3/apis/${group}/v1`),
      ...(random.chance(0.3) ? [json('PUT', `${path}/${name}`, definition(random, plural, group))] : []),
      forged,
      get(`${collection}/o`),
      json('DELETE', `${path}/${name}`, ''),
    ];
    return { changes: 'maybe', requests, judge: (answers) => judgeForged(answers[requests.indexOf(forged)]) };
  },
};
