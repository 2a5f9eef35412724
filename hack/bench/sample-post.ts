/** What the runs store: about 1 kB, three labels, five indexed fields, one of them unique and one with several values. */

export const group = 'bench.svc.example';

/** Each model is one table: what one scenario writes does not change what another reads. */
export interface SampleModel {
  plural: string;
  kind: string;
}

export const smallModel: SampleModel = { plural: 'smallposts', kind: 'SmallPost' };
export const largeModel: SampleModel = { plural: 'largeposts', kind: 'LargePost' };
export const writtenModel: SampleModel = { plural: 'writtenposts', kind: 'WrittenPost' };

/** Objects that share a label value, and likewise a category. */
export const groupSize = 20;

export function pathOf({ plural }: SampleModel): string {
  return `/apis/${group}/v1/${plural}`;
}

export function definitionOf({ plural, kind }: SampleModel): object {
  const text = { type: 'string', maxLength: 1000 };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Cluster',
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

const excerpt = 'Of a morning in the harbour, when the nets are hung to dry and nobody has yet decided what the day is for. '.repeat(4);

export interface SamplePost {
  name: string;
  /** Decides label, category and priority. */
  number: number;
  title: string;
  resourceVersion?: string;
}

/** Made by hand: JSON.stringify would be a third of the loader's time. Names and titles need no escaping. */
export function postText({ kind }: SampleModel, { name, number, title, resourceVersion }: SamplePost): string {
  const batch = Math.floor(number / groupSize);
  const revision = resourceVersion === undefined ? '' : `"resourceVersion":"${resourceVersion}",`;
  return (
    `{"apiVersion":"${group}/v1","kind":"${kind}","metadata":{"name":"${name}",${revision}` +
    `"labels":{"lang":"${number % 2 === 0 ? 'en' : 'de'}","tier":"gold","batch":"b-${batch}"}},` +
    `"spec":{"title":"${title}","slug":"${name}","category":"c-${batch}","priority":${(number * 7919) % 1000},` +
    `"publishedAt":"2026-01-01T00:00:00Z","tags":["harbour","t-${number % 50}"],"excerpt":"${excerpt}"}}`
  );
}
