import {
  ApiException,
  ApiextensionsV1Api,
  AuthorizationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  type KubernetesObject,
} from '@kubernetes/client-node';
import type { ClientCase } from '../client-case.ts';
import type { ClientSite } from '../site/client-site.ts';

const apiVersion = 'post.example.com/v1';
const namespace = 'default';
const path = `/apis/${apiVersion}/namespaces/${namespace}/letters`;

interface Letter extends KubernetesObject {
  spec?: { text?: string; pages?: number };
}

function letter(name: string, spec: Letter['spec'] = {}): Letter & { metadata: { name: string; namespace: string } } {
  return { apiVersion, kind: 'Letter', metadata: { name, namespace }, spec };
}

/** @kubernetes/client-node in this process, with the kubeconfig of the server. */
export const clientNode: ClientCase = {
  // It is one of svc's own dependencies.
  missing: () => Promise.resolve(undefined),
  run: async (site) => {
    const config = new KubeConfig();
    config.loadFromFile(site.kubeconfig);
    await typedClients(site, config);
    const objects = KubernetesObjectApi.makeApiClient(config);
    await objectClient(site, objects);
    await chunks(site, config);
    await informer(site, config, objects);
  },
};

/** Their bodies have neither kind nor apiVersion. */
async function typedClients(site: ClientSite, config: KubeConfig): Promise<void> {
  const definitions = config.makeApiClient(ApiextensionsV1Api);
  const schema = { type: 'object', x_kubernetes_preserve_unknown_fields: true };
  await definitions.createCustomResourceDefinition({
    body: {
      metadata: { name: 'letters.post.example.com' },
      spec: {
        group: 'post.example.com',
        scope: 'Namespaced',
        names: { plural: 'letters', singular: 'letter', kind: 'Letter' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    },
  });
  await site.server.untilServed(path);
  const core = config.makeApiClient(CoreV1Api);
  const body = { metadata: { name: 'settings' }, data: { a: '1' } };
  const created = await core.createNamespacedConfigMap({ namespace, body });
  site.checkEqual('create of a ConfigMap', [created.kind, created.data], ['ConfigMap', { a: '1' }]);
  const replaced = await core.replaceNamespacedConfigMap({
    name: 'settings',
    namespace,
    body: Object.assign(created, { data: { b: '2' } }),
  });
  site.checkEqual('replace of a ConfigMap', replaced.data, { b: '2' });
  const listed = await core.listNamespacedSecret({ namespace: 'missing' });
  site.checkEqual('list in a missing namespace', listed.items, []);
  const review = await config.makeApiClient(AuthorizationV1Api).createSelfSubjectAccessReview({
    body: { spec: { resourceAttributes: { verb: 'list', group: 'post.example.com', resource: 'letters' } } },
  });
  site.checkEqual('a review of access', review.status?.allowed, true);
}

async function objectClient(site: ClientSite, objects: KubernetesObjectApi): Promise<void> {
  const created = await objects.create(letter('one', { text: 'Hello' }));
  const read = await objects.read<Letter>(letter('one'));
  site.checkEqual('create and read', read.metadata?.uid, created.metadata.uid);
  const patch = (object: Letter, strategy: PatchStrategy, manager: string, force?: boolean): Promise<Letter> =>
    objects.patch<Letter>(object, undefined, undefined, manager, force, strategy);
  const merged = await patch(letter('one', { pages: 2 }), PatchStrategy.MergePatch, 'editor');
  site.checkEqual('merge patch', merged.spec, { pages: 2, text: 'Hello' });
  const applied = await patch(letter('two', { text: 'First' }), PatchStrategy.ServerSideApply, 'first');
  site.checkEqual('apply creates', applied.metadata?.managedFields?.[0]?.operation, 'Apply');
  const second = letter('two', { text: 'Second' });
  site.checkEqual(
    "apply of another manager's field",
    await patch(second, PatchStrategy.ServerSideApply, 'second').catch(statusOf),
    409,
  );
  const forced = await patch(second, PatchStrategy.ServerSideApply, 'second', true);
  site.checkEqual('apply by force', forced.spec, { text: 'Second' });
  await objects.delete(letter('one'));
  await objects.create(letter('three'));
  site.checkEqual('a deleted object', await objects.read(letter('one')).catch(statusOf), 404);
}

/** Lists of the object client lose where they continue, because it reads their metadata as an object's. */
async function chunks(site: ClientSite, config: KubeConfig): Promise<void> {
  const custom = config.makeApiClient(CustomObjectsApi);
  const names: (string | undefined)[] = [];
  let next: string | undefined;
  do {
    const page = (await custom.listNamespacedCustomObject({
      group: 'post.example.com',
      version: 'v1',
      namespace,
      plural: 'letters',
      limit: 1,
      ...(next === undefined ? {} : { _continue: next }),
    })) as { metadata: { continue?: string }; items: Letter[] };
    names.push(...page.items.map(({ metadata }) => metadata?.name));
    next = page.metadata.continue;
  } while (next !== undefined && next !== '');
  site.checkEqual('a list in chunks', names, ['three', 'two']);
}

/** It follows the changes, and after the server was killed it goes on. */
async function informer(site: ClientSite, config: KubeConfig, objects: KubernetesObjectApi): Promise<void> {
  const followed = makeInformer<Letter>(config, path, () => objects.list<Letter>(apiVersion, 'Letter', namespace));
  const seen: string[] = [];
  for (const verb of ['add', 'update', 'delete'] as const)
    followed.on(verb, ({ metadata }) => seen.push(`${verb} ${metadata?.name}`));
  let isStopping = false;
  const restarts: Promise<void>[] = [];
  const restart = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (!isStopping) await followed.start().catch(restart);
  };
  followed.on('error', () => restarts.push(restart()));
  const versions = (items: readonly Letter[]): string[] =>
    items.map(({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`).toSorted();
  const untilSame = (when: string): Promise<void> =>
    site.until(`the informer has what the server has ${when}`, async () => {
      const { items } = await objects.list<Letter>(apiVersion, 'Letter', namespace);
      return JSON.stringify(versions(items)) === JSON.stringify(versions(followed.list()));
    });
  await followed.start();
  for (let i = 0; i < 20; i += 1) await objects.create(letter(`many-${i}`));
  await untilSame('after creates');
  await site.restartServer();
  for (let i = 0; i < 20; i += 2) await objects.delete(letter(`many-${i}`));
  await objects.create(letter('late'));
  await untilSame('after a restart');
  for (const what of ['add many-3', 'delete many-4', 'add late'])
    site.checkEqual(`the informer said once: ${what}`, seen.filter((line) => line === what).length, 1);
  isStopping = true;
  await followed.stop();
  await Promise.all(restarts);
}

function statusOf(error: unknown): number {
  if (error instanceof ApiException) return error.code;
  throw error;
}
