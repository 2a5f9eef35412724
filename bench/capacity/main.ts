import { benchSettings, startServer } from '../server/bench-server.ts';
import { PostgresProcess } from '../../test/system/harness/process/postgres-process.ts';
import type { LoadJob } from '../load/load.ts';
import { reportMachine } from '../report/machine-facts.ts';
import { Report } from '../report/report.ts';
import type { Sample } from '../report/sample.ts';
import { runMain, untilInterrupted, type Outcome } from '../../test/system/harness/run/run-main.ts';
import { WorkerProcess } from '../../test/system/harness/process/worker-process.ts';
import { parseCapacityOptions, usage, type CapacityOptions, type PartName } from './capacity-options.ts';
import { CapacityReport } from './capacity-report.ts';
import type { CapacityRun } from './capacity-run.ts';
import { measureBloat } from './parts/bloat.ts';
import { measureDisk } from './parts/disk.ts';
import { measureMany } from './parts/many.ts';
import { measureMemory } from './parts/memory.ts';
import { measureOperations } from './parts/operations.ts';
import { measurePooler } from './parts/pooler.ts';
import { measureReplicas } from './parts/replicas.ts';

type Stoppable = { stop(): void | Promise<void> };

const parts: Record<PartName, (run: CapacityRun) => Promise<void>> = {
  disk: measureDisk,
  bloat: measureBloat,
  operations: measureOperations,
  memory: measureMemory,
  replicas: measureReplicas,
  many: measureMany,
  pooler: measurePooler,
};

/** Each part has its own database and server, so that parts do not affect each other. */
async function measure(part: PartName, options: CapacityOptions, report: CapacityReport): Promise<void> {
  const started: Stoppable[] = [];
  const own = <T extends Stoppable>(each: T): T => {
    started.unshift(each);
    return each;
  };
  try {
    const database = own(await PostgresProcess.start({ parent: options.dataParent, settings: benchSettings }));
    const api = own(await startServer({ database }));
    const loader = own(new WorkerProcess<LoadJob, Sample>(new URL('../load/load.ts', import.meta.url)));
    await untilInterrupted(parts[part]({ options, report, database, api, loader }));
  } catch (error) {
    report.fail(`${part}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  } finally {
    for (const each of started) await each.stop();
  }
}

async function reportFacts(options: CapacityOptions, report: CapacityReport): Promise<void> {
  const facts = new Report();
  const database = await PostgresProcess.start({ parent: options.dataParent, settings: benchSettings });
  try {
    await reportMachine(facts, database);
  } finally {
    await database.stop();
  }
  report.line(facts.toString().split('\n\n')[0]!);
}

async function run(options: CapacityOptions): Promise<Outcome> {
  const report = new CapacityReport((text) => void process.stdout.write(text));
  await reportFacts(options, report);
  for (const part of options.only) await measure(part, options, report);
  return report.failed ? { passed: 0, failures: ['capacity'] } : { passed: 1, failures: [] };
}

await runMain({ usage, parse: parseCapacityOptions, needsLinux: 'This reads /proc and needs Linux.', run });
