import type { ApiProcess } from '../api-process.ts';
import type { BenchDatabase } from '../bench-database.ts';
import type { LoadJob } from '../load.ts';
import type { Sample } from '../sample.ts';
import type { WorkerProcess } from '../../test/system/harness/worker-process.ts';
import type { CapacityOptions } from './capacity-options.ts';
import type { CapacityReport } from './capacity-report.ts';

/** Everything a part works with; the processes are their owner's to stop. */
export interface CapacityRun {
  options: CapacityOptions;
  report: CapacityReport;
  database: BenchDatabase;
  /** In the database `postgres`, as `database` is. */
  api: ApiProcess;
  loader: WorkerProcess<LoadJob, Sample>;
}

export type LoadOptions = Pick<LoadJob, 'connections' | 'plan'> &
  Partial<Pick<LoadJob, 'requests'>> & { api?: ApiProcess };

/**
 * Closed loops for a window, or until so many requests are answered. Throws where one is answered wrongly: no figure
 * would be true.
 */
export async function load(
  { options, api: own, database, loader }: CapacityRun,
  { api = own, ...plan }: LoadOptions,
): Promise<Sample> {
  const processes = { server: api.pid, postmaster: database.postmaster };
  const sample = await loader.run({
    port: api.port,
    authorization: api.authorization,
    processes,
    warmUpSeconds: options.isQuick ? 0.1 : 1,
    seconds: options.seconds,
    ...plan,
  });
  if (sample.errors > 0) throw new Error(`${sample.errors} requests failed, the first: ${sample.failure ?? ''}`);
  return sample;
}
