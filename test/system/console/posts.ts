import type { ConsoleSite } from './console-site.ts';

export const postDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'posts.blog.example.com' },
  spec: {
    group: 'blog.example.com',
    scope: 'Namespaced',
    names: { plural: 'posts', singular: 'post', kind: 'Post', shortNames: ['po'] },
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
                required: ['title'],
                properties: {
                  title: { type: 'string', minLength: 1, maxLength: 100 },
                  body: { type: 'string' },
                  priority: { type: 'integer', minimum: 0, maximum: 1000 },
                },
              },
              status: {
                type: 'object',
                properties: {
                  conditions: {
                    type: 'array',
                    items: {
                      type: 'object',
                      properties: {
                        type: { type: 'string' },
                        status: { type: 'string' },
                        reason: { type: 'string' },
                        message: { type: 'string' },
                        lastTransitionTime: { type: 'string', format: 'date-time' },
                      },
                    },
                  },
                },
              },
            },
          },
        },
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Title', type: 'string', jsonPath: '.spec.title' },
          { name: 'Priority', type: 'integer', jsonPath: '.spec.priority' },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        indexes: [{ name: 'priority', path: 'spec.priority', type: 'integer' }],
      },
    ],
  },
};

export const postsPath = '/apis/blog.example.com/v1/namespaces/default/posts';

export function post(name: string, spec: object, labels: Record<string, string> = {}): object {
  return { apiVersion: 'blog.example.com/v1', kind: 'Post', metadata: { name, labels }, spec };
}

/** `post-000` and so on, each with its number as priority. */
export async function createPosts(site: ConsoleSite, count: number): Promise<void> {
  const waiting = Array.from({ length: count }, (_, at) => at).values();
  const work = async (): Promise<void> => {
    for (const at of waiting)
      await site.api(
        'POST',
        postsPath,
        post(
          `post-${String(at).padStart(3, '0')}`,
          { title: `Post ${at}`, body: `Text of ${at}`, priority: at },
          { parity: at % 2 === 0 ? 'even' : 'odd' },
        ),
      );
  };
  await Promise.all(Array.from({ length: 8 }, work));
}
