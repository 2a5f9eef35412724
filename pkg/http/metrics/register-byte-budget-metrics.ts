import type { Registry } from 'prom-client';
import type { ByteBudget } from '../memory/byte-budget.ts';
import { registerReading } from './register-reading.ts';

/** Exports the memory that requests use at the time of the scrape. */
export function registerByteBudgetMetrics(registry: Registry, { transfer, parsed }: ByteBudget): void {
  const pools = { moved: transfer, parsed };
  const reading = (name: string, help: string, read: (pool: typeof transfer) => number): void =>
    registerReading({
      registry,
      type: 'gauge',
      name,
      help,
      read: () => Object.entries(pools).map(([use, pool]) => ({ labels: { use }, value: read(pool) })),
    });
  reading(
    'svc_http_bytes_in_flight',
    'Memory that requests under way take: their bodies, reads and answers, and what is parsed of them.',
    ({ used }) => used,
  );
  reading('svc_http_bytes_in_flight_limit', 'What they may take together.', ({ total }) => total);
}
