/**
 * The stored objects: about 1 kB, three labels, five indexed fields, one of them unique and one with several values.
 */

export const group = 'bench.svc.example';

/** Each model has its own table, so that writes of one scenario do not affect reads of another. */
export interface SampleModel {
  plural: string;
  kind: string;
  /** Of its objects; absent for a cluster-scoped model. */
  namespace?: string;
}

/** The model of a size for reads and lists. */
export function modelOfSize(objects: number): SampleModel {
  return { plural: `posts-${objects}`, kind: `PostOf${objects}` };
}

export const writtenModel: SampleModel = { plural: 'writtenposts', kind: 'WrittenPost' };

/** Written as `writtenModel`, but the audit log keeps nothing of it. */
export const unauditedModel: SampleModel = { plural: 'unauditedposts', kind: 'UnauditedPost' };

/** Alike, but for the quota: the objects of one are limited. */
export const limitedModel: SampleModel = { plural: 'limitedposts', kind: 'LimitedPost', namespace: 'default' };
export const unlimitedModel: SampleModel = { plural: 'unlimitedposts', kind: 'UnlimitedPost', namespace: 'default' };

/** Three of ten objects each, and one of ten for the last. */
const tiers = ['gold', 'gold', 'gold', 'silver', 'silver', 'silver', 'iron', 'iron', 'iron', 'clay'];

/** The number of objects with the same label value or category. */
export const groupSize = 20;

export function pathOf({ plural, namespace }: SampleModel): string {
  return `/apis/${group}/v1/${namespace === undefined ? '' : `namespaces/${namespace}/`}${plural}`;
}

export function definitionOf({ plural, kind, namespace }: SampleModel): object {
  const text = { type: 'string', maxLength: 1000 };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespace === undefined ? 'Cluster' : 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  required: ['title', 'slug'],
                  properties: {
                    title: { type: 'string', maxLength: 100 },
                    slug: { type: 'string', pattern: '^[a-z0-9-]+$' },
                    category: text,
                    priority: { type: 'integer', minimum: 0 },
                    publishedAt: { type: 'string', format: 'date-time' },
                    tags: { type: 'array', items: text },
                    excerpt: text,
                    // Neither indexed nor limited, so that a scenario can make objects of any size.
                    attachment: { type: 'string' },
                  },
                },
              },
            },
          },
          indexes: [
            { name: 'spec.slug', path: 'spec.slug', type: 'string', unique: true },
            { name: 'spec.category', path: 'spec.category', type: 'string' },
            { name: 'spec.priority', path: 'spec.priority', type: 'integer' },
            { name: 'spec.publishedAt', path: 'spec.publishedAt', type: 'date' },
            { name: 'spec.tags', path: 'spec.tags[*]', type: 'string', multi: true },
          ],
        },
      ],
    },
  };
}

const excerpt =
  'Of a morning in the harbour, when the nets are hung to dry and nobody has yet decided what the day is for. '.repeat(
    4,
  );

export interface SamplePost {
  name: string;
  /** Determines label, category and priority. */
  number: number;
  title: string;
  resourceVersion?: string;
  /** Additional bytes. */
  attachment?: number;
}

/**
 * Selectors that match every fiftieth object, or three of ten: by a label, and by a field with another kind of index;
 * all different ones.
 */
export const selections: { share: number; by: string; selectors: string[] }[] = [
  { share: 0.02, by: 'label', selectors: numbers(50).map((i) => `labelSelector=lang%3Dl-${i}`) },
  { share: 0.02, by: 'field', selectors: numbers(50).map((i) => `fieldSelector=spec.tags%3Dt-${i}`) },
  { share: 0.3, by: 'label', selectors: ['gold', 'silver', 'iron'].map((tier) => `labelSelector=tier%3D${tier}`) },
  {
    share: 0.3,
    by: 'field',
    selectors: numbers(50).map((i) => `fieldSelector=spec.priority%3E%3D${i * 10},spec.priority%3C${i * 10 + 300}`),
  },
];

/** Formatted by hand: JSON.stringify would take a third of the loader's time. Names and titles need no escaping. */
export function postText(
  { kind }: SampleModel,
  { name, number, title, resourceVersion, attachment = 0 }: SamplePost,
): string {
  const batch = Math.floor(number / groupSize);
  const revision = resourceVersion === undefined ? '' : `"resourceVersion":"${resourceVersion}",`;
  const attached = attachment === 0 ? '' : `"attachment":"${'a'.repeat(attachment)}",`;
  return (
    `{"apiVersion":"${group}/v1","kind":"${kind}","metadata":{"name":"${name}",${revision}` +
    `"labels":{"lang":"l-${number % 50}","tier":"${tiers[number % 10]}","batch":"b-${batch}"}},` +
    `"spec":{"title":"${title}","slug":"${name}","category":"c-${batch}","priority":${(number * 7919) % 1000},` +
    `"publishedAt":"2026-01-01T${twoDigits(number % 24)}:${twoDigits(number % 60)}:00Z","tags":["harbour","t-${number % 50}"],${attached}"excerpt":"${excerpt}"}}`
  );
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
