import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { LevelWithSilent, Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { poolSizes, connectionsOf } from '../composition/pool-sizes.ts';
import { availableConnections } from './available-connections.ts';
import { openPlatformPostgres } from '../composition/open-storage.ts';
import type { Platform, PlatformParts } from '../composition/start-platform.ts';
import { registerWorkerMetrics } from '../metrics/worker-metrics.ts';
import type { Options } from '../options/option-table.ts';
import { warnOfShortDelay } from '../process/drain-times.ts';
import { Teardown } from '../process/teardown.ts';
import { openCertificate } from '../tls/open-certificate.ts';
import { prepareKubeconfig } from '../tls/prepare-kubeconfig.ts';
import { optionsOfWorker } from './options-of-worker.ts';
import { workersWithin } from './worker-count.ts';
import { WorkerPool } from './worker-pool.ts';

/** Hosts of controllers that are remembered as gone; more of them have expired. */
const maxGone = 16;

/**
 * Starts a server of several workers: this process runs the embedded PostgreSQL, keeps the certificate, and looks after
 * the workers, which are API servers that share the ports. The first of them runs the controllers and plugins. Resolves
 * when all serve; a failed start stops everything. Undefined if PostgreSQL has connections for one only.
 */
export async function startWithWorkers(
  options: Options,
  log: Logger,
  { workers, ...parts }: PlatformParts & { workers: number },
): Promise<Platform | undefined> {
  const teardown = new Teardown(log);
  try {
    warnOfShortDelay(options, log);
    const poolSize = options['svc.database.pool-size'];
    const { database, embedded } = await openPlatformPostgres(
      { ...options, 'svc.database.pool-size': 1 },
      {
        log,
        teardown,
        applicationName: 'svc workers',
        startTimeoutMs: options['svc.database.start-timeout'],
        connections: connectionsOf({ poolSize, workers }),
      },
    );
    const count = workersWithin(await availableConnections(database), workers, options);
    if (count < workers)
      log.warn({ workers: count, cores: workers }, 'PostgreSQL has too few connections for a worker on each core');
    if (count === 1) {
      await teardown.run();
      return undefined;
    }
    const opened = await openCertificate(options, { selfMade: parts.local, log, teardown });
    const gone: string[] = [];
    const pool: WorkerPool = new WorkerPool({
      count,
      log,
      orderFor: (worker, port) => {
        const hostIdentity = `${hostname()}_${randomUUID()}`;
        const before = [...gone];
        // Whoever had this place before has ended.
        if (worker === 1) gone.push(hostIdentity);
        if (gone.length > maxGone) gone.shift();
        const { consoleFolder, accessServer, local } = parts;
        return {
          kind: 'start',
          worker,
          of: count,
          options: optionsOfWorker(options, { worker, of: count }),
          parts: { controllers: parts.controllers && worker === 1, accessServer, local, consoleFolder },
          hasPlugins: parts.controllers,
          connections: poolSizes({ poolSize, workers: count }),
          level: log.level as LevelWithSilent,
          embedded,
          port,
          hostIdentity,
          gone: before,
        };
      },
      metricsText: (name) => (name === 'platform' ? metrics.metrics() : undefined),
    });
    const metrics = parentMetrics(pool, count);
    teardown.add('workers', async () => {
      if (!(await pool.stop())) throw new Error('a worker did not stop cleanly');
    });
    const platform = await pool.start();
    const { tlsAddress, tokenFile } = platform;
    const kubeconfig =
      parts.local && opened !== undefined && tlsAddress !== undefined
        ? await prepareKubeconfig(options, { opened, tlsAddress, tokenFile, log })
        : undefined;
    return { ...platform, kubeconfig, stop: () => teardown.run() };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

/** Of the process itself, as worker 0, and how its workers are. */
function parentMetrics(pool: WorkerPool, count: number): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ worker: '0' });
  collectDefaultMetrics({ register: registry });
  registerWorkerMetrics(registry, { count, serving: () => pool.serving, restarts: () => pool.restarts });
  return registry;
}
