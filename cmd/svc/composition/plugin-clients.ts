import type { Client } from '#pkg/apimachinery/index';

interface ClosableClient extends Client {
  close(): void;
}

/** Clients with each plugin's own user: each is created on first use, and all are closed together. */
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
