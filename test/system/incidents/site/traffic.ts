import { setTimeout as delay } from 'node:timers/promises';

const clients = 4;
const pauseMs = 50;
/** Longer than a server's own limit. Milliseconds. */
const answerTimeoutMs = 45_000;
const namespaces = '/api/v1/namespaces';
const notes = '/apis/incidents.example.com/v1/namespaces/traffic/notes';

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'notes.incidents.example.com' },
  spec: {
    group: 'incidents.example.com',
    scope: 'Namespaced',
    names: { plural: 'notes', singular: 'note', kind: 'Note' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        },
      },
    ],
  },
};

/** Clients that create, read and delete notes, one after another, whatever they are answered. */
export class Traffic {
  readonly path = notes;
  /** How many requests had which status; 0 is no answer. */
  readonly statuses = new Map<number, number>();
  readonly #url: string;
  readonly #token: string;
  readonly #ending = new AbortController();
  #working: Promise<unknown> = Promise.resolve();

  /** Resolves when the notes are served. */
  static async start(url: string, token: string): Promise<Traffic> {
    const traffic = new Traffic(url, token);
    await traffic.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    await traffic.send('POST', namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'traffic' } });
    while ((await traffic.send('GET', notes)) !== 200) await delay(pauseMs);
    traffic.#working = Promise.all(Array.from({ length: clients }, (_client, i) => traffic.#work(i)));
    return traffic;
  }

  private constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  /** The status of the answer; 0 without any. */
  async send(method: string, path: string, body?: object): Promise<number> {
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(answerTimeoutMs)]);
    const status = await fetch(this.#url + path, {
      method,
      signal,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).then(
      async (answer) => {
        await answer.text();
        return answer.status;
      },
      () => 0,
    );
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
    return status;
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#working;
  }

  async #work(client: number): Promise<void> {
    for (let i = 0; !this.#ending.signal.aborted; i += 1) {
      const name = `note-${client}-${i}`;
      await this.send('POST', notes, note(name));
      await this.send('GET', `${notes}/${name}`);
      await this.send('DELETE', `${notes}/${name}`);
      await delay(pauseMs, undefined, { signal: this.#ending.signal }).catch(() => undefined);
    }
  }
}

/** `text` makes it larger. */
export function note(name: string, text = 'short'): object {
  return { apiVersion: 'incidents.example.com/v1', kind: 'Note', metadata: { name }, spec: { text } };
}
