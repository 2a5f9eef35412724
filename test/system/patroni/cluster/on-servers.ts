import { mkdir } from 'node:fs/promises';
import { newPersonalToken } from '#pkg/identity/index';
import { errorLines } from '../../harness/process/server-log.ts';
import type { CheckReport } from '../../harness/run/check-report.ts';
import { untilInterrupted } from '../../harness/run/run-main.ts';
import { PatroniCluster, recipes, type PatroniClusterOptions } from './patroni-cluster.ts';
import { keepLog, SupervisedServer } from './supervised-server.ts';

/** What a case gets. */
export interface CaseOptions {
  /** Belongs to the run. */
  folder: string;
  seed: number;
  /** How many times each change is made. */
  count: number;
  report: CheckReport;
}

/** PostgreSQL under Patroni, and a server of svc for each recipe. */
export interface Ground {
  cluster: PatroniCluster;
  servers: readonly [SupervisedServer, SupervisedServer];
  token: string;
}

/** Starts a cluster and its servers, runs `work`, and stops all, also on Ctrl-C. */
export async function onServers(
  { report, ...options }: PatroniClusterOptions & { report: CheckReport },
  work: (ground: Ground) => Promise<void>,
): Promise<void> {
  const { folder, isSynchronous } = options;
  await mkdir(folder, { recursive: true });
  const cluster = PatroniCluster.start(options);
  let servers: Promise<SupervisedServer>[] = [];
  let isOver = false;
  const run = async (): Promise<void> => {
    const token = newPersonalToken();
    const { urls } = await cluster;
    if (isOver) return;
    // What is lost is found by the log, which must have everything in the end.
    const args = isSynchronous ? [] : [keepLog];
    servers = recipes.map((name) => SupervisedServer.start({ name, folder, databaseUrl: urls[name], token, args }));
    const [first, second] = await Promise.all(servers);
    await work({ cluster: await cluster, servers: [first!, second!], token });
  };
  try {
    await untilInterrupted(run());
  } finally {
    isOver = true;
    // What is still starting is stopped, too.
    for (const server of servers) await server.then((one) => one.stop()).catch(() => undefined);
    await cluster.then((one) => one.stop()).catch(() => undefined);
  }
  for (const { name, logFile, ends } of await Promise.all(servers)) {
    report.check(`the server with ${name} never ends`, ends.length === 0, ends.map(({ status }) => status).join(', '));
    const wrong = await errorLines(logFile);
    report.check(`the server with ${name} logs no error`, wrong.length === 0, wrong.slice(0, 3).join('; '));
  }
}
