import type { ApiObject, ResourceType } from '#pkg/apimachinery/index';
import type { TestEnv } from '../start-test-env.ts';
import { retryUntilPasses } from '../contract/api-call.ts';
import { transports } from './transport.ts';

/** The model of the contract: namespaced, with a status subresource, indexes of two types, and a field of any type. */
export type Note = ApiObject<NoteSpec, { phase?: string; words?: number }>;

export interface NoteSpec {
  title: string;
  rank?: number;
  text?: string;
  extra?: unknown;
}

export const noteType: ResourceType<Note> = {
  group: 'transports.example.com',
  version: 'v1',
  kind: 'Note',
  plural: 'notes',
  namespaced: true,
  hasStatusSubresource: true,
};

export function newNote(
  namespace: string,
  name: string,
  spec: Partial<NoteSpec> = {},
  metadata: Partial<Note['metadata']> = {},
): Note {
  return {
    apiVersion: 'transports.example.com/v1',
    kind: 'Note',
    metadata: { ...metadata, namespace, name },
    spec: { title: 'a title', ...spec },
  };
}

/** Registers the model, and creates a namespace for each transport. */
export async function prepareContract(env: TestEnv): Promise<void> {
  const bodies: [string, unknown][] = [
    ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition],
    ...transports.map(({ namespace }): [string, unknown] => [
      '/api/v1/namespaces',
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ]),
  ];
  for (const [path, body] of bodies) {
    const answer = await env.request(path, { method: 'POST', body });
    if (answer.status !== 201) throw new Error(`${path} was refused: ${await answer.text()}`);
  }
  // The indexes are built in the background.
  for (const { client } of env.servers)
    await retryUntilPasses(() => client.list(noteType, { sort: ['rank', 'title'] }));
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'notes.transports.example.com' },
  spec: {
    group: 'transports.example.com',
    scope: 'Namespaced',
    names: { plural: 'notes', singular: 'note', kind: 'Note' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        indexes: [
          { name: 'rank', path: 'spec.rank', type: 'integer' },
          { name: 'title', path: 'spec.title', type: 'string' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['title'],
                properties: {
                  title: { type: 'string', maxLength: 100 },
                  rank: { type: 'integer' },
                  text: { type: 'string' },
                  extra: { 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
              status: { type: 'object', properties: { phase: { type: 'string' }, words: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
};
