import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { helm } from '../../../hack/helm/helm.mjs';
import { chartFolder } from './render-chart.ts';
import type { KubernetesDocument } from './validate-document.ts';

const kinds: Readonly<Record<string, readonly string[]>> = {
  v1: ['Secret', 'ConfigMap', 'Service', 'ServiceAccount', 'Pod'],
  'apps/v1': ['Deployment'],
  'autoscaling/v2': ['HorizontalPodAutoscaler'],
  'batch/v1': ['Job'],
  'policy/v1': ['PodDisruptionBudget'],
};

function resourcesOf(groupVersion: string): object {
  const resources = kinds[groupVersion]!.map((kind) => ({
    name: `${kind.toLowerCase()}s`,
    singularName: kind.toLowerCase(),
    namespaced: true,
    kind,
    verbs: ['get', 'list'],
  }));
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

function groupOf(groupVersion: string): object {
  const [name, version] = groupVersion.split('/');
  const about = { groupVersion, version };
  return { name, versions: [about], preferredVersion: about };
}

const groupVersions = Object.keys(kinds).filter((name) => name.includes('/'));
const discovery: Readonly<Record<string, object>> = {
  '/version': { major: '1', minor: '35', gitVersion: 'v1.35.0' },
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: groupVersions.map(groupOf) },
  '/api/v1': resourcesOf('v1'),
  ...Object.fromEntries(groupVersions.map((name) => [`/apis/${name}`, resourcesOf(name)])),
};

/** The part of Kubernetes that a chart's `lookup` uses: the API resources, and the objects in `objects`, by path. */
export class StubKubernetes {
  objects: Readonly<Record<string, object>> = {};
  readonly #folder = mkdtempSync(join(tmpdir(), 'svc-kubeconfig-'));
  readonly #server: Server = createServer(({ url }, response) => {
    const path = url!.split('?')[0]!;
    const answer = discovery[path] ?? this.objects[path];
    const none = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'NotFound',
      code: 404,
      message: 'not found',
    };
    response
      .writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer ?? none));
  });

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const cluster = { server: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` };
    writeFileSync(
      join(this.#folder, 'config'),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [{ name: 'a', cluster }],
        contexts: [{ name: 'a', context: { cluster: 'a', user: '' } }],
        'current-context': 'a',
      }),
    );
  }

  stop(): void {
    this.#server.close();
    rmSync(this.#folder, { recursive: true });
  }

  /** helm's output with this cluster and these `--set` arguments. Rejects with helm's message if it refuses. */
  async render(
    settings: Readonly<Record<string, string>>,
    flags: readonly string[] = [],
  ): Promise<KubernetesDocument[]> {
    const sets = Object.entries(settings).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
    const text = await helm([
      'template',
      'svc',
      chartFolder,
      '--namespace',
      'prod',
      '--dry-run=server',
      '--disable-openapi-validation',
      '--kubeconfig',
      join(this.#folder, 'config'),
      ...sets,
      ...flags,
    ]);
    return parseAllDocuments(text).map((document) => document.toJS() as KubernetesDocument);
  }
}
