import { connectionsOf } from '../composition/pool-sizes.ts';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';
import { availableCores } from './available-cores.ts';

const mostAutomatic = 4;

type CountOptions = Pick<Options, 'svc.server.workers' | 'svc.database.pool-size'>;

/** The number of workers: that of the option, else one up to two cores, and one core fewer than there are above that. */
export function workerCount(options: CountOptions, cores = availableCores()): number {
  return options['svc.server.workers'] ?? Math.max(1, Math.min(mostAutomatic, Math.floor(cores) - 1));
}

/**
 * As many of these workers as `connections` of PostgreSQL are enough for; one needs none. Throws OperatorError if that
 * is fewer than the option says.
 */
export function workersWithin(connections: number, workers: number, options: CountOptions): number {
  const needed = (count: number): number =>
    connectionsOf({ poolSize: options['svc.database.pool-size'], workers: count });
  let fitting = workers;
  while (fitting > 1 && needed(fitting) > connections) fitting -= 1;
  if (fitting < workers && options['svc.server.workers'] !== undefined)
    throw new OperatorError(
      `svc.server.workers is ${workers}, which needs up to ${needed(workers)} connections, and PostgreSQL has ${connections} for svc; set max_connections there to more, or svc.server.workers to ${fitting}.`,
    );
  return fitting;
}
