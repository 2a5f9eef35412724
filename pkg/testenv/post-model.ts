import type { ApiObject, ResourceType } from '#pkg/apimachinery/index';
import type { TestEnv } from './start-test-env.ts';

/** A model for tests of clients and controllers: cluster-scoped, with status as a subresource. */
export type Post = ApiObject<{ title: string; author?: string }, { words?: number }>;

export const postType: ResourceType<Post> = {
  group: 'test.example.com',
  version: 'v1',
  kind: 'Post',
  plural: 'posts',
  namespaced: false,
  hasStatusSubresource: true,
};

export function newPost(name: string, title = 'a title', metadata: Partial<Post['metadata']> = {}): Post {
  return { apiVersion: 'test.example.com/v1', kind: 'Post', metadata: { ...metadata, name }, spec: { title } };
}

/** Registers the model through the API; resolves when it is served. */
export async function definePosts(env: TestEnv): Promise<void> {
  const answer = await env.request('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    method: 'POST',
    body: definition,
  });
  if (answer.status !== 201) throw new Error(`the definition was refused: ${await answer.text()}`);
  // A list waits until the server serves the model.
  for (const { client } of env.servers) await client.list(postType);
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'posts.test.example.com' },
  spec: {
    group: 'test.example.com',
    scope: 'Cluster',
    names: { plural: 'posts', singular: 'post', kind: 'Post' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['title'],
                properties: { title: { type: 'string' }, author: { type: 'string' } },
              },
              status: { type: 'object', properties: { words: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
};
