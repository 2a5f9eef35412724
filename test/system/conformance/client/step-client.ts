import type { JsonObject, JsonValue } from '../../../../pkg/apimachinery/index.ts';
import { ApiClient } from '../../harness/client/api-client.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import type { StepAnswer, StepRequest } from '../trace/trace.ts';

/** That of all objects. */
export const conformanceNamespace = 'n';

const contentTypes = {
  create: 'application/json',
  replace: 'application/json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;
const methods = { create: 'POST', replace: 'PUT', merge: 'PATCH', json: 'PATCH', apply: 'PATCH' } as const;

/** More in flight than a server has cores only wait in it. */
const maxConnections = 16;

export interface ClientAnswer {
  status: number;
  body: JsonObject;
}

/** Requests to the peer, or to a server of ours: both speak the same. */
export class StepClient {
  readonly #port: number;
  readonly #client: ApiClient;

  constructor({ url, token }: { url: string; token: string }) {
    this.#port = Number(new URL(url).port);
    this.#client = new ApiClient({ token, maxConnections, timeoutMs: 600_000 });
  }

  close(): void {
    this.#client.close();
  }

  async send(method: string, path: string, body?: JsonValue, contentType = 'application/json'): Promise<ClientAnswer> {
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

  /** Sends one step to the object of this name. */
  async step(request: StepRequest, definition: JsonObject, name: string): Promise<StepAnswer> {
    const { verb, version, subresource, manager, force, dryRun, body } = request;
    const query = new URLSearchParams({ fieldManager: manager });
    if (force === true) query.set('force', 'true');
    if (dryRun) query.set('dryRun', 'All');
    const path = collectionOf(definition, version);
    const object = verb === 'create' ? '' : `/${name}${subresource === '' ? '' : `/${subresource}`}`;
    const sent = await this.send(methods[verb], `${path}${object}?${query.toString()}`, body, contentTypes[verb]);
    const answer = { status: sent.status, answer: sent.body };
    if (subresource !== 'scale' || sent.status >= 300) return answer;
    return { ...answer, scaled: (await this.send('GET', `${path}/${name}`)).body };
  }

  /** Creates or replaces a definition, and waits until its schema is served: the default of `epoch` says so. */
  async define(definition: JsonObject, epoch: number): Promise<void> {
    const { name } = definition['metadata'] as { name: string };
    const present = await this.send('GET', `${definitions}/${name}`);
    const { resourceVersion } = (present.body['metadata'] ?? {}) as { resourceVersion?: string };
    const answer =
      present.status === 404
        ? await this.send('POST', definitions, definition)
        : await this.send('PUT', `${definitions}/${name}`, {
            ...definition,
            metadata: { name, resourceVersion: resourceVersion! },
          });
    if (answer.status >= 300) throw new Error(`definition refused: ${JSON.stringify(answer.body)}`);
    const { group, names, versions } = specOf(definition);
    for (const version of versions) {
      const probe = {
        apiVersion: `${group}/${version.name}`,
        kind: names.kind,
        metadata: { name: 'probe' },
      };
      await retryUntilTrue(
        async () => {
          const tried = await this.send('POST', `${collectionOf(definition, version.name)}?dryRun=All`, probe);
          return tried.body['epoch'] === epoch;
        },
        { what: `${name} is served`, timeoutMs: 300_000, intervalMs: 50 },
      );
    }
  }

  /** Removes a definition and its objects. */
  async remove(definition: JsonObject): Promise<void> {
    await this.send('DELETE', `${definitions}/${(definition['metadata'] as { name: string }).name}`);
  }
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

function collectionOf(definition: JsonObject, version: string): string {
  const { group, names } = specOf(definition);
  return `/apis/${group}/${version}/namespaces/${conformanceNamespace}/${names.plural}`;
}

function specOf({ spec }: JsonObject): {
  group: string;
  names: { kind: string; plural: string };
  versions: { name: string }[];
} {
  return spec as unknown as ReturnType<typeof specOf>;
}
