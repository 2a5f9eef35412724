import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServe, type Served } from '../../../cmd/svc/start-test-program.ts';
import { KubectlUser, type Kubectl } from './kubectls.ts';

/** A model with status, scale, columns, a short name and a category. */
export const deckDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'decks.cards.example.com' },
  spec: {
    group: 'cards.example.com',
    scope: 'Namespaced',
    names: { kind: 'Deck', plural: 'decks', singular: 'deck', shortNames: ['dk'], categories: ['all'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {}, scale: { specReplicasPath: '.spec.copies', statusReplicasPath: '.status.copies' } },
        additionalPrinterColumns: [
          { name: 'Title', type: 'string', jsonPath: '.spec.title' },
          { name: 'Copies', type: 'integer', jsonPath: '.spec.copies' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A deck of cards.',
            properties: {
              spec: {
                type: 'object',
                description: 'What the deck should be.',
                properties: {
                  title: { type: 'string', maxLength: 20, description: 'What people call it.' },
                  copies: { type: 'integer', format: 'int32', minimum: 0 },
                  cards: { type: 'array', items: { type: 'string' } },
                },
              },
              status: {
                type: 'object',
                properties: {
                  copies: { type: 'integer', format: 'int32' },
                  conditions: {
                    type: 'array',
                    items: {
                      type: 'object',
                      properties: { type: { type: 'string' }, status: { type: 'string' } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

/** A Deck without a namespace: kubectl sends it to its own. */
export function deck(name: string, spec: object = { title: 'One', copies: 1, cards: ['a', 'b'] }): object {
  return { apiVersion: 'cards.example.com/v1', kind: 'Deck', metadata: { name, labels: { app: 'cards' } }, spec };
}

/** A server of its own for a file of tests, with `deckDefinition`, and what kubectl needs to use it. */
export class KubectlServer {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly #served: Served;

  private constructor(folder: string, served: Served, kubeconfig: string) {
    this.folder = folder;
    this.#served = served;
    this.kubeconfig = kubeconfig;
  }

  static async start(): Promise<KubectlServer> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-kubectl-'));
    const served = await startServe(join(folder, 'data'));
    const { kubeconfig } = await served.program.line('ready');
    const server = new KubectlServer(folder, served, String(kubeconfig));
    await server.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', deckDefinition);
    return server;
  }

  async stop(): Promise<void> {
    const { child, exited } = this.#served.program;
    child.kill('SIGTERM');
    await exited;
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Creates an object without kubectl. */
  async post(path: string, body: object): Promise<void> {
    await this.#send('POST', 'application/json', path, body);
  }

  /** Merges into an object without kubectl. */
  async patch(path: string, body: object): Promise<void> {
    await this.#send('PATCH', 'application/merge-patch+json', path, body);
  }

  /** A kubectl whose namespace is its own, so that several can be tried on one server. */
  async userOf(kubectl: Kubectl): Promise<KubectlUser> {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: kubectl.name } };
    await this.post('/api/v1/namespaces', namespace);
    return this.user(kubectl, `--namespace=${kubectl.name}`);
  }

  user(kubectl: Kubectl, ...flags: string[]): KubectlUser {
    return new KubectlUser(kubectl, {
      cacheDir: join(this.folder, 'cache'),
      flags: [`--kubeconfig=${this.kubeconfig}`, ...flags],
    });
  }

  /** Writes objects into a file, as JSON documents; returns its path. */
  async file(name: string, ...objects: object[]): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, objects.map((object) => JSON.stringify(object)).join('\n'));
    return path;
  }

  async #send(method: string, type: string, path: string, body: object): Promise<void> {
    const response = await fetch(`${this.#served.url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.#served.token}`, 'Content-Type': type },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }
}
