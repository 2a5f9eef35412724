import type { Client } from '#pkg/apimachinery/index';

interface ClosableClient extends Client {
  close(): void;
}

/** The API as each plugin's own user: a client is made when it is first asked for, and all are closed together. */
export class PluginClients {
  readonly #open: (plugin: string) => ClosableClient;
  readonly #clients = new Map<string, ClosableClient>();

  constructor(open: (plugin: string) => ClosableClient) {
    this.#open = open;
  }

  readonly of = (plugin: string): Client => {
    const present = this.#clients.get(plugin);
    if (present !== undefined) return present;
    const client = this.#open(plugin);
    this.#clients.set(plugin, client);
    return client;
  };

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }
}
