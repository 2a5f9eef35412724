/** The most connections that one process opens to PostgreSQL, by pool: see docs/sizing.md. */
export interface PoolSizes {
  main: number;
  control: number;
  /** For reads, and as many again for long lists. */
  reads: number;
  tokens: number;
  access: number;
}

/** Without the main pool, whose size is an option. */
const ofServer = { control: 6, reads: 8, tokens: 4, access: 8 };
/** With fewer, a statement that waits for another one would wait for its connection. */
const ofWorker: PoolSizes = { main: 4, control: 3, reads: 2, tokens: 2, access: 3 };
/** The writer, and the listener for notifications. */
const dedicated = 2;
/** Compaction, an index being built, and a look for expired things, now and then. */
const locks = 3;

/** The part of one of `workers` that share the connections of one server. */
export function poolSizes({ poolSize, workers }: { poolSize: number; workers: number }): PoolSizes {
  const all: PoolSizes = { main: poolSize, ...ofServer };
  if (workers === 1) return all;
  const part = (pool: keyof PoolSizes): number =>
    Math.min(all[pool], Math.max(ofWorker[pool], Math.ceil(all[pool] / workers)));
  return {
    main: part('main'),
    control: part('control'),
    reads: part('reads'),
    tokens: part('tokens'),
    access: part('access'),
  };
}

/** The most connections that the workers of one server open together. */
export function connectionsOf(given: { poolSize: number; workers: number }): number {
  const { main, control, reads, tokens, access } = poolSizes(given);
  return given.workers * (main + control + 2 * reads + tokens + access + dedicated + locks);
}
