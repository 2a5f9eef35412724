import type pg from 'pg';
import type { Registry } from 'prom-client';
import type { PoolSizes } from './pool-sizes.ts';
import type { AddressCounter, HealthCheck, WatchCounter } from '#pkg/http/index';

/** What a server knows that is one of several workers of one machine, which share its ports and its limits. */
export interface WorkerContext {
  /** How many workers there are. The options have this worker's part of what they share. */
  readonly of: number;
  /** Its part of the connections to PostgreSQL. */
  readonly connections: PoolSizes;
  /** Connects to the embedded PostgreSQL, which the parent process runs; undefined with `svc.database.url`. */
  readonly embedded: pg.ClientConfig | undefined;
  /**
   * The port of the platform, if another worker listens already: then this one listens once it can serve. Undefined for
   * the first one, which listens at once, so that probes see a live server.
   */
  readonly port: number | undefined;
  /** The name of this process among hosts of controllers, and whether that one is known to be gone. */
  readonly hostIdentity: string;
  readonly isGone: (identity: string) => boolean;
  readonly readyz: HealthCheck;
  readonly watches: WatchCounter;
  /** Counts the connections of a listener by address. */
  addresses(listener: string): AddressCounter;
  /** The text of `/metrics` for the registries of this name in all workers. */
  metricsText(name: string, registry: Registry): () => Promise<string>;
  /** The worker that runs the controllers and plugins; undefined if none of this server does. */
  readonly plugins: PluginHostWorker | undefined;
}

export interface PluginHostWorker {
  /** The URL at which the other workers reach it; undefined while there is none. */
  readonly url: string | undefined;
  /** This worker runs them, at this URL. */
  announce(url: string): void;
}
