import { expect, test } from '@jest/globals';
import type { AnyObject, Client, ResourceType } from '#pkg/apimachinery/index';
import { ClientWrapper, wrapClient } from './client-wrapper.ts';

const type: ResourceType = {
  group: 'blog.example.com',
  version: 'v1',
  kind: 'Post',
  plural: 'posts',
  namespaced: true,
  hasStatusSubresource: true,
};
const key = { namespace: 'default', name: 'a' };
const object: AnyObject = { apiVersion: 'blog.example.com/v1', kind: 'Post', metadata: key };
const patch = { type: 'merge', patch: {} } as const;
const options = { dryRun: true };

const calls: Record<keyof Client, (client: Client) => Promise<unknown>> = {
  get: (client) => client.get(type, key, {}),
  list: (client) => client.list(type, { limit: 1 }),
  watch: (client) => client.watch(type, { resourceVersion: '1' }),
  create: (client) => client.create(type, object, options),
  update: (client) => client.update(type, object, options),
  updateStatus: (client) => client.updateStatus(type, object, options),
  patch: (client) => client.patch(type, key, patch, options),
  patchStatus: (client) => client.patchStatus(type, key, patch, options),
  apply: (client) => client.apply(type, object, options),
  applyStatus: (client) => client.applyStatus(type, object, options),
  delete: (client) => client.delete(type, key, options),
};
const verbs = Object.keys(calls) as (keyof Client)[];
const writeVerbs = verbs.slice(3);

function contentOf(verb: string): object {
  if (verb === 'delete') return {};
  if (verb.startsWith('patch')) return { patch };
  return verb.startsWith('apply') ? { configuration: object } : { object };
}

/** Answers each call with its verb and parameters. */
const echo = Object.fromEntries(
  verbs.map((verb) => [verb, (...parameters: unknown[]) => Promise.resolve([verb, ...parameters])]),
) as unknown as Client;

test.each(verbs)('%s reaches the wrapped client unchanged', async (verb) => {
  expect(await calls[verb](new ClientWrapper(echo))).toEqual(await calls[verb](echo));
});

test('a hook sees every call of its kind, and decides what is sent', async () => {
  const seen: unknown[] = [];
  const wrapped = wrapClient(echo, {
    read: (read, send) => {
      seen.push(read);
      return send();
    },
    write: (write, send) => {
      seen.push(write);
      return send({ ...write.options, uid: 'u' });
    },
  });
  const answers = [];
  for (const verb of verbs) answers.push(await calls[verb](wrapped));
  expect(seen).toEqual([
    { verb: 'get', type, key },
    { verb: 'list', type },
    { verb: 'watch', type },
    ...writeVerbs.map((verb) => ({
      verb,
      type,
      key,
      options,
      ...contentOf(verb),
    })),
  ]);
  expect(answers.slice(3).map((answer) => (answer as unknown[]).at(-1))).toEqual(
    writeVerbs.map(() => ({ dryRun: true, uid: 'u' })),
  );
});

test('a verb can be replaced without its hook', async () => {
  const wrapped = wrapClient(echo, {
    write: () => Promise.reject(new Error('not today')),
    delete: () => Promise.resolve({ uid: 'u' }),
  });
  expect(await wrapped.delete(type, key)).toEqual({ uid: 'u' });
  await expect(wrapped.create(type, object)).rejects.toThrow('not today');
});
