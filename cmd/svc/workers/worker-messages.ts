import type pg from 'pg';
import type { LevelWithSilent } from 'pino';
import type { PoolSizes } from '../composition/pool-sizes.ts';
import type { Platform, PlatformParts } from '../composition/start-platform.ts';
import type { Options } from '../options/option-table.ts';

/** Everything that a worker needs to start. It reads no options itself: files may have changed since the parent did. */
export interface StartOrder {
  readonly kind: 'start';
  /** From 1 on. */
  readonly worker: number;
  readonly of: number;
  /** With the worker's part of what is shared. */
  readonly options: Options;
  readonly parts: Omit<PlatformParts, 'environment' | 'worker'>;
  /** Whether one of the workers runs controllers and plugins. */
  readonly hasPlugins: boolean;
  readonly connections: PoolSizes;
  readonly level: LevelWithSilent;
  /** See `WorkerContext`. */
  readonly embedded: pg.ClientConfig | undefined;
  readonly port: number | undefined;
  readonly hostIdentity: string;
  readonly gone: readonly string[];
}

/** One of the counts that the workers share, and how many there may be. */
export interface LimitedKey {
  readonly key: string;
  readonly limit: number;
}

export interface WorkersState {
  /** Whether all workers have served at the same time. */
  readonly haveStarted: boolean;
  /** Where the worker that runs the plugins listens for the others. */
  readonly pluginsUrl: string | undefined;
}

export type ServingPlatform = Omit<Platform, 'failed' | 'stop' | 'kubeconfig'>;

export type MessageToWorker =
  | StartOrder
  | { readonly kind: 'stop' }
  | { readonly kind: 'level'; readonly level: LevelWithSilent }
  | ({ readonly kind: 'state' } & WorkersState)
  /** `refusedBy`: the index of the key whose limit is reached; then nothing was counted. */
  | { readonly kind: 'entered'; readonly id: number; readonly refusedBy: number | undefined }
  | { readonly kind: 'read-metrics'; readonly id: number; readonly name: string }
  | { readonly kind: 'metrics'; readonly id: number; readonly texts: readonly string[] };

export type MessageToParent =
  /** It listens to messages; node:cluster loses those that came before. */
  | { readonly kind: 'hello' }
  | { readonly kind: 'serving'; readonly platform: ServingPlatform }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'level'; readonly level: LevelWithSilent }
  | { readonly kind: 'plugins'; readonly url: string }
  | { readonly kind: 'enter'; readonly id: number; readonly keys: readonly LimitedKey[] }
  | { readonly kind: 'leave'; readonly keys: readonly string[] }
  | { readonly kind: 'collect-metrics'; readonly id: number; readonly name: string }
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string };
