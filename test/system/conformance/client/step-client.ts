import type { JsonObject, JsonValue } from '../../../../pkg/apimachinery/index.ts';
import { ApiClient } from '../../harness/client/api-client.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import type { StepRequest } from '../trace/trace.ts';

const contentTypes = {
  create: 'application/json',
  replace: 'application/json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;
const methods = { create: 'POST', replace: 'PUT', merge: 'PATCH', json: 'PATCH', apply: 'PATCH' } as const;

/** More in flight than the peer has cores only wait in it. */
const maxConnections = 16;

export interface PeerAnswer {
  status: number;
  body: JsonObject;
}

/** Requests to the peer. */
export class PeerClient {
  readonly #port: number;
  readonly #client = new ApiClient({ token: 'bench', maxConnections });

  constructor(url: string) {
    this.#port = Number(new URL(url).port);
  }

  close(): void {
    this.#client.close();
  }

  async send(method: string, path: string, body?: JsonValue, contentType = 'application/json'): Promise<PeerAnswer> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const answer = await this.#client.request({
      port: this.#port,
      method,
      path,
      headers: {
        accept: 'application/json',
        'content-type': contentType,
        'content-length': `${Buffer.byteLength(text)}`,
      },
      body: text,
    });
    let parsed: JsonObject;
    try {
      parsed = JSON.parse(answer.text) as JsonObject;
    } catch {
      parsed = { message: answer.text };
    }
    return { status: answer.status, body: parsed };
  }

  /** Sends one step to the object of this path: `/apis/GROUP/{version}/namespaces/n/PLURAL/NAME`. */
  async step(request: StepRequest, collection: string, name: string): Promise<PeerAnswer> {
    const { verb, version, subresource, manager, force, dryRun, body } = request;
    const query = new URLSearchParams({ fieldManager: manager });
    if (force === true) query.set('force', 'true');
    if (dryRun) query.set('dryRun', 'All');
    const path = collection.replace('{version}', version);
    const object = verb === 'create' ? '' : `/${name}${subresource === '' ? '' : `/${subresource}`}`;
    return this.send(methods[verb], `${path}${object}?${query.toString()}`, body, contentTypes[verb]);
  }

  /** Creates or replaces a definition, and waits until its schema is served: the default of `epoch` says so. */
  async define(definition: JsonObject, collection: string, epoch: number): Promise<void> {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const { name } = definition['metadata'] as { name: string };
    const present = await this.send('GET', `${path}/${name}`);
    const { resourceVersion } = (present.body['metadata'] ?? {}) as { resourceVersion?: string };
    const answer =
      present.status === 404
        ? await this.send('POST', path, definition)
        : await this.send('PUT', `${path}/${name}`, {
            ...definition,
            metadata: { name, resourceVersion: resourceVersion! },
          });
    if (answer.status >= 300) throw new Error(`definition refused: ${JSON.stringify(answer.body)}`);
    const { group, names, versions } = definition['spec'] as unknown as {
      group: string;
      names: { kind: string };
      versions: { name: string }[];
    };
    for (const version of versions) {
      const probe = {
        apiVersion: `${group}/${version.name}`,
        kind: names.kind,
        metadata: { name: 'probe' },
      };
      await retryUntilTrue(
        async () => {
          const tried = await this.send('POST', `${collection.replace('{version}', version.name)}?dryRun=All`, probe);
          return tried.body['epoch'] === epoch;
        },
        { what: `${name} is served`, timeoutMs: 60_000, intervalMs: 50 },
      );
    }
  }
}
