import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import pg from 'pg';
import { pino } from 'pino';
import type { Client } from '#pkg/apimachinery/index';
import { createPlatformRegistry, LoopbackClient, MastersAuthorizer } from '#pkg/apiserver/index';
import { RestClient, servePort } from '#pkg/client/index';
import { Database, silentLog } from '#pkg/database/index';
import { systemMasters } from '#pkg/identity/index';
import { PostgresStore } from '#pkg/storage/index';
import { serveJobs } from '../../test/system/harness/process/worker-process.ts';
import { measureControllers, type ControllerFigures, type ControllerPlan } from './controller-run.ts';
import { measureRestarts, type RestartFigures } from './restart-run.ts';

/** The API: over HTTP, or in this process with its own database. */
export type ControllerJob =
  | { type: 'rest'; url: string; token: string; plan: ControllerPlan }
  | { type: 'loopback' | 'port'; connection: pg.ClientConfig; plan: ControllerPlan }
  | { type: 'restarts'; connection: pg.ClientConfig; objects: number };

export type ControllerResult = ControllerFigures | RestartFigures;

function work(job: ControllerJob): Promise<ControllerResult> {
  if (job.type === 'rest') return overHttp(job);
  return withinServer<ControllerResult>(job.connection, (client) => {
    if (job.type === 'restarts') return measureRestarts(client, job.objects);
    return job.type === 'loopback' ? measureControllers(client, job.plan) : inThread(client, job.plan);
  });
}

async function overHttp({ url, token, plan }: Extract<ControllerJob, { type: 'rest' }>): Promise<ControllerFigures> {
  const client = RestClient.connect({ url, token });
  try {
    return await measureControllers(client, plan);
  } finally {
    client.close();
  }
}

/** The platform as in `svc serve`, without its listener. */
async function withinServer<Result>(
  connection: pg.ClientConfig,
  measure: (client: Client) => Promise<Result>,
): Promise<Result> {
  const database = await Database.connect({ connection, log: silentLog });
  const store = await PostgresStore.open({ database, log: silentLog });
  const registry = await createPlatformRegistry({ store, log: pino({ level: 'silent' }) });
  const client = new LoopbackClient({
    registry,
    authorizer: new MastersAuthorizer(),
    user: { name: 'bench', uid: '', groups: [systemMasters] },
  });
  try {
    return await measure(client);
  } finally {
    client.close();
    await registry.stop();
    await store.close();
    await database.close();
  }
}

async function inThread(client: Client, plan: ControllerPlan): Promise<ControllerFigures> {
  const { port1, port2 } = new MessageChannel();
  const service = servePort({ port: port1, client });
  const thread = new Worker(new URL('controller-thread.mjs', import.meta.url), {
    execArgv: [],
    workerData: { port: port2, plan },
    transferList: [port2],
  });
  try {
    const [figures] = (await once(thread, 'message')) as [ControllerFigures];
    return figures;
  } finally {
    await thread.terminate();
    service.close();
  }
}

serveJobs(work);
