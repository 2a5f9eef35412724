import { parentPort, type MessagePort } from 'node:worker_threads';
import { isStatusError, type ApiObject, type ResourceType } from '#pkg/apimachinery/index';
import { PortClient } from './port-client.ts';

type Post = ApiObject<{ title: string }>;

const postType: ResourceType<Post> = {
  group: 'test.example.com',
  version: 'v1',
  kind: 'Post',
  plural: 'posts',
  namespaced: false,
  hasStatusSubresource: true,
};

/** The program of a test's worker: it leaves a watch open. */
async function run(port: MessagePort): Promise<void> {
  const client = new PortClient({ port });
  const { resourceVersion } = await client.list(postType);
  const stream = await client.watch(postType, { resourceVersion });
  const post: Post = {
    apiVersion: 'test.example.com/v1',
    kind: 'Post',
    metadata: { name: 'from-worker' },
    spec: { title: 'a' },
  };
  const created = await client.create(postType, post);
  await client.patch(
    postType,
    { namespace: '', name: 'from-worker' },
    { type: 'merge', patch: { spec: { title: 'b' } } },
  );
  const failure = await client
    .create(postType, post)
    .catch((error: unknown) => (isStatusError(error) ? error.reason : 'none'));
  const events: string[] = [];
  const reader = stream[Symbol.asyncIterator]();
  while (events.length < 2) {
    const { value } = (await reader.next()) as { value: { type: string; object: Post } };
    events.push(`${value.type} ${value.object.metadata.name}`);
  }
  parentPort!.postMessage({ created: created.metadata.name, events, failure }, []);
}

parentPort!.once('message', (port: MessagePort) => void run(port));
