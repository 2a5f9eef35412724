import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient, type ApiAnswer } from '../harness/client/api-client.ts';
import { leaseOf, leasesOf, type Tenant } from './tenant-model.ts';

/** A leader renews every two seconds and steps down after ten without success; this one measures more often. */
const pauseMs = 250;

/** How a leader renewed its lease. */
export interface Renewals {
  count: number;
  /** Status and text of those that failed. */
  failures: string[];
  /** The longest from the read of the lease to its update. Milliseconds. */
  longestMs: number;
}

/** Renews a lease as leader election does: reads it, then updates what it has read. */
export class LeaseHolder {
  readonly #tenant: Tenant;
  readonly #client = new ApiClient();

  /** Creates the lease. */
  static async start(tenant: Tenant): Promise<LeaseHolder> {
    const holder = new LeaseHolder(tenant);
    const { status, text } = await holder.#send('POST', '', leaseOf(tenant.namespace));
    if (status !== 201 && status !== 409) throw new Error(`the lease was not created: ${status} ${text}`);
    return holder;
  }

  private constructor(tenant: Tenant) {
    this.#tenant = tenant;
  }

  /** Renews until the signal fires. */
  async renew(signal: AbortSignal): Promise<Renewals> {
    const renewals: Renewals = { count: 0, failures: [], longestMs: 0 };
    while (!signal.aborted) {
      const start = performance.now();
      const failure = await this.#renew();
      renewals.count += 1;
      renewals.longestMs = Math.max(renewals.longestMs, performance.now() - start);
      if (failure !== undefined) renewals.failures.push(failure);
      await delay(pauseMs);
    }
    return renewals;
  }

  stop(): void {
    this.#client.close();
  }

  async #renew(): Promise<string | undefined> {
    const path = `/${this.#tenant.namespace}`;
    try {
      const read = await this.#send('GET', path);
      if (read.status !== 200) return `read: ${read.status} ${read.text}`;
      const { metadata } = JSON.parse(read.text) as { metadata: { resourceVersion: string } };
      const { status, text } = await this.#send('PUT', path, leaseOf(this.#tenant.namespace, metadata.resourceVersion));
      return status === 200 ? undefined : `update: ${status} ${text}`;
    } catch (error) {
      return (error as Error).message;
    }
  }

  #send(method: string, path: string, body?: object): Promise<ApiAnswer> {
    const { port, authorization, namespace } = this.#tenant;
    return this.#client.request({
      port,
      method,
      path: `${leasesOf(namespace)}${path}`,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}
