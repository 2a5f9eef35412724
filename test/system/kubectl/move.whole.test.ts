import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { PeerProcess, peerToken } from '../harness/process/peer-process.ts';
import { KubectlServer } from './kubectl-server.ts';
import { describeKubectls, KubectlUser, peerFolder, type Kubectl } from './kubectls.ts';

const boxesName = 'boxes.moves.example.com';

function boxesDefinition(indexes?: object[]): object {
  const text = { type: 'string' };
  const schema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { label: text, size: { type: 'integer', default: 1 } } },
      status: { type: 'object', properties: { phase: text } },
    },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: boxesName, labels: { moved: 'yes' } },
    spec: {
      group: 'moves.example.com',
      scope: 'Namespaced',
      names: { kind: 'Box', plural: 'boxes', singular: 'box' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
          ...(indexes === undefined ? {} : { indexes }),
        },
      ],
    },
  };
}

interface Box {
  metadata: Record<string, unknown> & { namespace: string; name: string; uid: string };
  spec: object;
  status?: object;
}

function box(namespace: string, name: string, metadata: object = {}): object {
  return {
    apiVersion: 'moves.example.com/v1',
    kind: 'Box',
    metadata: { name, namespace, labels: { app: 'boxes' }, ...metadata },
    spec: { label: name },
  };
}

/** What is the same on both sides. */
function kept({ metadata, spec }: Box): object {
  const { namespace, name, labels, finalizers } = metadata;
  return { namespace, name, labels, finalizers, spec };
}

async function boxesOf(user: KubectlUser): Promise<Box[]> {
  return (JSON.parse(await user.run('get', 'boxes', '-A', '-o', 'json')) as { items: Box[] }).items;
}

/** The peer has no kinds of the core group, where kubectl finds the kind List. */
function documentsOf(list: string): string {
  return (JSON.parse(list) as { items: object[] }).items.map((item) => JSON.stringify(item)).join('\n');
}

const withInput = (user: KubectlUser, input: string, ...args: string[]): Promise<string> =>
  user.runWith({ input }, ...args, '-f', '-');
const established = ['wait', '--for=condition=Established', `crd/${boxesName}`] as const;

/** The commands of docs/kubernetes.md. */
(peerFolder === undefined ? describe.skip : describe)('a definition and its objects move', () => {
  describeKubectls((kubectl) => {
    // 1.20 cannot write a status.
    (kubectl.isOld ? describe.skip : describe)('between a cluster and svc', () => describeMoves(kubectl));
  });
});

function describeMoves(kubectl: Kubectl): void {
  let folder: string;
  let peer: PeerProcess;
  let server: KubectlServer;
  let cluster: KubectlUser;
  let svc: KubectlUser;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-move-'));
    [peer, server] = await Promise.all([PeerProcess.start(peerFolder!, folder), KubectlServer.start()]);
    cluster = new KubectlUser(kubectl, { cacheDir: folder, flags: [`--server=${peer.url}`, `--token=${peerToken}`] });
    svc = server.user(kubectl);
  });

  afterAll(async () => {
    await Promise.all([peer?.stop(), server?.stop()]);
    await rm(folder, { recursive: true, force: true });
  });

  test('from the cluster, with new uids, and without what controllers make again', async () => {
    await withInput(cluster, JSON.stringify(boxesDefinition()), 'create');
    await cluster.run(...established);
    const applied = JSON.stringify(box('default', 'applied'));
    await withInput(cluster, applied, 'apply', '--server-side', '--field-manager=gitops');
    await withInput(cluster, JSON.stringify(box('default', 'client-side')), 'apply');
    const held = box('team', 'held', { finalizers: ['example.com/hold'] });
    await withInput(cluster, JSON.stringify(held), 'create');
    const status = JSON.stringify({ status: { phase: 'Full' } });
    await cluster.run('patch', 'box', 'applied', '--subresource=status', '--type=merge', '-p', status);
    const owner = (await boxesOf(cluster)).find(({ metadata }) => metadata.name === 'applied')!.metadata;
    const ownerReferences = [{ apiVersion: 'moves.example.com/v1', kind: 'Box', name: 'applied', uid: owner.uid }];
    await withInput(cluster, JSON.stringify(box('default', 'owned', { ownerReferences })), 'create');

    await withInput(svc, await cluster.run('get', 'crd', boxesName, '-o', 'yaml'), 'create');
    await svc.run(...established);
    await svc.run('create', 'namespace', 'team');
    await withInput(svc, await cluster.run('get', 'boxes', '-A', '-o', 'yaml'), 'create');

    // The garbage collector removes an object whose owner does not exist: owners have other uids here.
    await pollUntil(async () => (await svc.run('get', 'box', 'owned', '--ignore-not-found', '-o', 'name')) === '');
    const before = (await boxesOf(cluster)).filter(({ metadata }) => metadata.name !== 'owned');
    const moved = await boxesOf(svc);
    expect(moved.map(kept)).toEqual(before.map(kept));
    for (const { metadata, status: ofController } of moved) {
      expect(metadata).toMatchObject({ generation: 1 });
      expect(before.map(({ metadata: { uid } }) => uid)).not.toContain(metadata.uid);
      expect(ofController).toBeUndefined();
    }
    // Its fields belong to the command that created it.
    const managed = await svc.run('get', 'box', 'applied', '-o', 'json', '--show-managed-fields');
    const { managedFields } = (JSON.parse(managed) as Box).metadata;
    expect(managedFields).toMatchObject([{ manager: 'kubectl-create', operation: 'Update' }]);
  });

  test('a status moves by itself', async () => {
    const patch = await cluster.run('get', 'box', 'applied', '-o', 'jsonpath={"{"}"status":{.status}{"}"}');
    await svc.run('patch', 'box', 'applied', '--subresource=status', '--type=merge', '-p', patch);
    expect(await svc.run('get', 'box', 'applied', '-o', 'jsonpath={.status.phase}')).toBe('Full');
  });

  test('the same command again creates what is missing, and changes nothing', async () => {
    await svc.run('delete', 'box', 'client-side');
    const before = await boxesOf(svc);
    const input = await cluster.run('get', 'boxes', '-A', '-l', 'app=boxes', '-o', 'yaml');
    const { status, stdout, stderr } = await svc.result(['create', '-f', '-'], { input });
    expect([status, stdout]).toEqual([1, expect.stringContaining('box.moves.example.com/client-side created')]);
    expect(stderr).toContain('boxes.moves.example.com "held" already exists');
    const names = new Set(before.map(({ metadata }) => metadata.name));
    expect((await boxesOf(svc)).filter(({ metadata }) => names.has(metadata.name))).toEqual(before);
  });

  test('the files that objects were applied from are applied again', async () => {
    const changed = (name: string): string =>
      JSON.stringify({ ...box('default', name), spec: { label: 'changed', size: 2 } });
    await withInput(svc, JSON.stringify(box('default', 'applied')), 'apply', '--server-side', '--field-manager=gitops');
    const args = ['--server-side', '--field-manager=gitops', '--force-conflicts'];
    await withInput(svc, changed('applied'), 'apply', ...args);
    await withInput(svc, changed('client-side'), 'apply');
    for (const name of ['applied', 'client-side'])
      expect(await svc.run('get', 'box', name, '-o', 'jsonpath={.spec}')).toBe('{"label":"changed","size":2}');
  });

  test('and back, without the indexes that only svc has', async () => {
    const released = JSON.stringify({ metadata: { finalizers: null } });
    await cluster.run('patch', 'box', 'held', '--namespace=team', '--type=merge', '-p', released);
    await cluster.run('delete', 'crd', boxesName);
    await svc.run('delete', 'box', 'owned', '--ignore-not-found');
    await withInput(
      svc,
      JSON.stringify(boxesDefinition([{ name: 'label', path: 'spec.label', type: 'string' }])),
      'apply',
    );

    const definition = await svc.run('get', 'crd', boxesName, '-o', 'yaml');
    expect(definition).toContain('indexes:');
    await withInput(cluster, definition, 'create', '--validate=warn');
    await cluster.run(...established);
    await withInput(cluster, documentsOf(await svc.run('get', 'boxes', '-A', '-o', 'json')), 'create');

    expect((await boxesOf(cluster)).map(kept)).toEqual((await boxesOf(svc)).map(kept));
    expect(await cluster.run('get', 'crd', boxesName, '-o', 'yaml')).not.toContain('indexes:');
  });
}
