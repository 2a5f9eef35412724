import { untilAborted, whenAborted, type Client } from '#pkg/apimachinery/index';
import { wrapClient } from '#pkg/client/index';

/** A client whose watches can be made to say nothing more, as for a process that was frozen. */
export class BlindableClient {
  readonly client: Client;
  readonly #blind = new AbortController();

  constructor(client: Client) {
    this.client = wrapClient(client, {
      watch: (type, options) => {
        if (this.#blind.signal.aborted) return untilAborted(new Promise<never>(() => undefined), options.signal);
        const end = new AbortController();
        for (const signal of [options.signal, this.#blind.signal]) whenAborted(signal, () => end.abort());
        return client.watch(type, { ...options, signal: end.signal });
      },
    });
  }

  goBlind(): void {
    this.#blind.abort();
  }
}
