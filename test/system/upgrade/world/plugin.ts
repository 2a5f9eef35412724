import { pollUntil } from '../../harness/poll-until.ts';
import type { ApiClient, Json } from '../api-client.ts';

const STARTED_MS = 60_000;
const pluginPath = '/apis/plugin.svc.run/v1alpha1/plugins/blog';
const postsPath = '/apis/blog.example.com/v1/posts';

/** Starts the sample plugin, and makes it publish a post. */
export async function startPlugin(api: ApiClient): Promise<void> {
  await pollUntil(async () => (await api.send('GET', pluginPath)).status === 200, {
    what: 'the plugin is seen',
    timeoutMs: STARTED_MS,
  });
  await api.expect(
    'PATCH',
    pluginPath,
    { spec: { enabled: true } },
    { 'content-type': 'application/merge-patch+json' },
  );
  await usePlugin(api, 'before');
}

/** Checks that it runs, and processes a new object. */
export async function usePlugin(api: ApiClient, name: string): Promise<void> {
  await pollUntil(async () => statusOf(await api.get(pluginPath))['phase'] === 'Started', {
    what: 'the plugin has started',
    timeoutMs: STARTED_MS,
  });
  await api.post(postsPath, {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { name },
    spec: { title: name, slug: name, tags: ['news'], publish: true },
  });
  await pollUntil(async () => statusOf(await api.get(`${postsPath}/${name}`))['phase'] === 'Published', {
    what: `the plugin publishes ${name}`,
    timeoutMs: STARTED_MS,
  });
}

function statusOf(object: Json): Json {
  return (object['status'] as Json | undefined) ?? {};
}
