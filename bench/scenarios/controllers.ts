import { startServer } from '../server/bench-server.ts';
import type { BenchRun } from '../bench-run.ts';
import type { ControllerJob, ControllerResult } from '../controllers/controller-process.ts';
import type { ControllerFigures, ControllerPlan } from '../controllers/controller-run.ts';
import type { RestartFigures } from '../controllers/restart-run.ts';
import { number } from '../../test/system/harness/run/table.ts';
import { WorkerProcess } from '../../test/system/harness/process/worker-process.ts';

const transports = ['loopback', 'port', 'rest'] as const;
const names = {
  loopback: 'in the server (loopback)',
  port: 'in a worker thread of the server (port)',
  rest: 'in a process of their own (REST)',
};

/** Controllers over each of the three transports, each with its own database, and the benefit of a stored position. */
export async function benchControllers(run: BenchRun): Promise<void> {
  const { isQuick } = run.options;
  const plan: ControllerPlan = {
    objects: isQuick ? 1000 : 10_000,
    paceSeconds: isQuick ? 1 : 10,
    writesPerSecond: 200,
    controllers: isQuick ? 20 : 100,
  };
  for (const transport of transports) {
    const figures = await inDatabaseOf(run, `controllers_${transport}`, (database) =>
      transport === 'rest'
        ? overHttp(run, database, plan)
        : inProcess<ControllerFigures>({ type: transport, connection: connectionTo(run, database), plan }),
    );
    reportTransport(run, plan, names[transport], figures);
  }
  reportRestarts(
    run,
    await inDatabaseOf(run, 'controllers_restarts', (database) =>
      inProcess<RestartFigures>({
        type: 'restarts',
        connection: connectionTo(run, database),
        objects: isQuick ? 3000 : 100_000,
      }),
    ),
  );
}

async function inDatabaseOf<Result>(
  { database }: BenchRun,
  name: string,
  work: (name: string) => Promise<Result>,
): Promise<Result> {
  await database.create(name);
  try {
    return await work(name);
  } finally {
    await database.query(`DROP DATABASE ${name} WITH (FORCE)`);
  }
}

function connectionTo(
  { database }: BenchRun,
  name: string,
): Extract<ControllerJob, { type: 'restarts' }>['connection'] {
  const { host, user } = database.connection;
  return { ...(host === undefined ? {} : { host }), ...(user === undefined ? {} : { user }), database: name };
}

async function inProcess<Result extends ControllerResult>(job: ControllerJob): Promise<Result> {
  const worker = new WorkerProcess<ControllerJob, Result>(
    new URL('../controllers/controller-process.ts', import.meta.url),
  );
  try {
    return await worker.run(job);
  } finally {
    worker.stop();
  }
}

async function overHttp(
  { database }: BenchRun,
  databaseName: string,
  plan: ControllerPlan,
): Promise<ControllerFigures> {
  const api = await startServer({ database, databaseName });
  try {
    return await inProcess<ControllerFigures>({
      type: 'rest',
      url: `http://127.0.0.1:${api.port}`,
      token: api.authorization.slice('Authorization: Bearer '.length),
      plan,
    });
  } finally {
    await api.stop();
  }
}

function reportTransport(
  { report }: BenchRun,
  { objects, writesPerSecond, controllers }: ControllerPlan,
  who: string,
  figures: ControllerFigures,
): void {
  const { reconcilesPerSecond, startDelay, bytesPerCachedObject, startAll } = figures;
  report.figure({
    scenario: `controllers, write to status, ${objects} objects`,
    who,
    perSecond: reconcilesPerSecond,
    unit: 'reconciles',
  });
  report.figure({
    scenario: `controllers, write to the start of its reconcile, ${writesPerSecond} writes/s`,
    who,
    ...startDelay,
  });
  report.figure({
    scenario: `controllers, ${controllers} start at once`,
    who,
    note: `${number(startAll.milliseconds)} ms to the last of ${startAll.reconciles} first looks`,
  });
  report.figure({
    scenario: 'controllers, memory of a cached object',
    who,
    note: `${number(bytesPerCachedObject)} bytes of heap`,
  });
}

function reportRestarts({ report }: BenchRun, { objects, withoutPosition, withPosition }: RestartFigures): void {
  const scenario = `controllers, a restart at ${objects} objects`;
  for (const [who, { milliseconds, reconciles }] of [
    ['without a stored position', withoutPosition],
    ['with one', withPosition],
  ] as const) {
    report.figure({ scenario, who, note: `at work again after ${number(milliseconds)} ms, ${reconciles} reconciles` });
  }
}
