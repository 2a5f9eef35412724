import type { ApiServer } from '../../test/system/harness/process/api-server.ts';
import type { PostgresProcess } from '../../test/system/harness/process/postgres-process.ts';
import type { LoadJob } from '../load/load.ts';
import type { Sample } from '../report/sample.ts';
import type { WorkerProcess } from '../../test/system/harness/process/worker-process.ts';
import type { CapacityOptions } from './capacity-options.ts';
import type { CapacityReport } from './capacity-report.ts';

/** The dependencies of a part; the owner stops the processes. */
export interface CapacityRun {
  options: CapacityOptions;
  report: CapacityReport;
  database: PostgresProcess;
  /** Uses the database `postgres`, as `database` does. */
  api: ApiServer;
  loader: WorkerProcess<LoadJob, Sample>;
}

export type LoadOptions = Pick<LoadJob, 'connections' | 'plan'> &
  Partial<Pick<LoadJob, 'requests'>> & { api?: ApiServer };

/**
 * Closed loops for a window, or until `requests` are answered. Throws for a wrong response, because the figures would
 * be wrong.
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
