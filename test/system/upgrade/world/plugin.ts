import { until } from '../../faults/until.ts';
import type { ApiClient, Json } from '../api-client.ts';

const STARTED_MS = 60_000;
const pluginPath = '/apis/plugin.svc.run/v1alpha1/plugins/blog';
const postsPath = '/apis/blog.example.com/v1/posts';

/** Starts the sample plugin, and has it publish a post. */
export async function startPlugin(api: ApiClient): Promise<void> {
  await until('the plugin is seen', STARTED_MS, async () => (await api.send('GET', pluginPath)).status === 200);
  await api.expect(
    'PATCH',
    pluginPath,
    { spec: { enabled: true } },
    { 'content-type': 'application/merge-patch+json' },
  );
  await usePlugin(api, 'before');
}

/** It runs, and does its work on what is new. */
export async function usePlugin(api: ApiClient, name: string): Promise<void> {
  await until(
    'the plugin has started',
    STARTED_MS,
    async () => statusOf(await api.get(pluginPath))['phase'] === 'Started',
  );
  await api.post(postsPath, {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { name },
    spec: { title: name, slug: name, tags: ['news'], publish: true },
  });
  await until(
    `the plugin publishes ${name}`,
    STARTED_MS,
    async () => statusOf(await api.get(`${postsPath}/${name}`))['phase'] === 'Published',
  );
}

function statusOf(object: Json): Json {
  return (object['status'] as Json | undefined) ?? {};
}
