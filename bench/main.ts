import { writeAuditPolicy } from './server/audit-policy.ts';
import { benchSettings, defineModel, startServer } from './server/bench-server.ts';
import { BareProcess } from './server/bare-process.ts';
import { PostgresProcess } from '../test/system/harness/process/postgres-process.ts';
import { parseBenchOptions, usage, type BenchOptions, type ScenarioName } from './bench-options.ts';
import { fill, fillConnections, type BenchRun } from './bench-run.ts';
import type { LoadJob } from './load/load.ts';
import { reportMachine } from './report/machine-facts.ts';
import { summarizeProfile } from './report/profile-summary.ts';
import { Report } from './report/report.ts';
import { limitedModel, modelOfSize, unauditedModel, unlimitedModel, writtenModel } from './sample-post.ts';
import type { Sample } from './report/sample.ts';
import { benchBroadList } from './scenarios/broad-list.ts';
import { benchConsole } from './scenarios/console.ts';
import { benchControllers } from './scenarios/controllers.ts';
import { benchCreate } from './scenarios/create.ts';
import { benchCredentials } from './scenarios/credentials.ts';
import { benchDefinitions } from './scenarios/definitions.ts';
import { benchGet } from './scenarios/get.ts';
import { benchFreshList, benchList } from './scenarios/list.ts';
import { benchMemory, reportMemory } from './scenarios/memory.ts';
import { benchModels } from './scenarios/models.ts';
import { benchOverload } from './scenarios/overload.ts';
import { benchTls } from './scenarios/tls.ts';
import { benchUpdate } from './scenarios/update.ts';
import { benchWatchExtremes } from './scenarios/watch-extremes.ts';
import { benchWatch } from './scenarios/watch.ts';
import { benchWholeList } from './scenarios/whole-list.ts';
import { runMain, untilInterrupted, type Outcome } from '../test/system/harness/run/run-main.ts';
import { WorkerProcess } from '../test/system/harness/process/worker-process.ts';

type Stoppable = { stop(): void | Promise<void> };

async function bench(options: BenchOptions): Promise<Report> {
  const report = new Report((line) => void process.stderr.write(`${line}\n`));
  const started: Stoppable[] = [];
  const own = <T extends Stoppable>(each: T): T => {
    started.unshift(each);
    return each;
  };
  try {
    const database = own(await PostgresProcess.start({ parent: options.dataParent, settings: benchSettings }));
    await reportMachine(report, database);
    const api = own(
      await startServer({
        database,
        args: [`--svc.audit.policy-file=${await writeAuditPolicy(database.folder)}`],
        profileFolder: options.profileFolder,
      }),
    );
    const express = own(await BareProcess.start('express'));
    const http = own(await BareProcess.start('http'));
    const loader = own(new WorkerProcess<LoadJob, Sample>(new URL('load/load.ts', import.meta.url)));
    await untilInterrupted(runScenarios({ options, report, database, api, express, http, loader }));
  } finally {
    for (const each of started) await each.stop();
  }
  return report;
}

async function runScenarios(run: BenchRun): Promise<void> {
  const { only, sizes } = run.options;
  /** A failing scenario does not stop the others. */
  const scenario = async (names: readonly ScenarioName[], measure: (run: BenchRun) => Promise<void>): Promise<void> => {
    if (!names.some((name) => only.includes(name))) return;
    await measure(run).catch((error: unknown) =>
      run.report.fail(`${measure.name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
    );
  };
  await scenario(['memory'], (each) => reportMemory(each, 'at rest'));
  for (const model of [...sizes.map(modelOfSize), writtenModel, unauditedModel, limitedModel, unlimitedModel])
    await defineModel(run.api, model);
  await fill(run, modelOfSize(sizes[0]!), sizes[0]!);
  await scenario(['get'], benchGet);
  await scenario(['create'], benchCreate);
  await scenario(['update'], benchUpdate);
  await scenario(['list', 'memory'], fillAll);
  for (const each of [benchList, benchBroadList, benchWholeList]) await scenario(['list'], each);
  for (const each of [benchWatch, benchWatchExtremes]) await scenario(['watch'], each);
  await scenario(['memory'], benchMemory);
  for (const each of [benchModels, benchDefinitions]) await scenario(['models'], each);
  await scenario(['memory'], (each) => reportMemory(each, 'at the end'));
  await scenario(['overload'], benchOverload);
  await scenario(['controllers'], benchControllers);
  await scenario(['credentials'], benchCredentials);
  await scenario(['tls'], benchTls);
  await scenario(['console'], benchConsole);
}

async function fillAll(run: BenchRun): Promise<void> {
  const { sizes, only } = run.options;
  for (const objects of sizes.slice(1)) {
    const sample = await fill(run, modelOfSize(objects), objects);
    run.report.compared(`load ${objects} objects by create, c=${fillConnections}`, [{ name: 'svc', sample }]);
    if (only.includes('list')) await benchFreshList(run, objects);
    if (only.includes('memory')) await reportMemory(run, `${objects} objects loaded`);
  }
  // Otherwise autovacuum would do this within minutes, in the middle of a comparison.
  await run.database.query('VACUUM (ANALYZE)');
}

async function runSuite(options: BenchOptions): Promise<Outcome> {
  const report = await bench(options);
  process.stdout.write(`${report.toString()}\n`);
  if (options.jsonFile !== undefined) report.writeJson(options.jsonFile);
  if (options.profileFolder !== undefined) process.stdout.write(await summarizeProfile(options.profileFolder));
  return report.failed ? { passed: 0, failures: ['bench'] } : { passed: 1, failures: [] };
}

await runMain({ usage, parse: parseBenchOptions, needsLinux: 'The bench reads /proc and needs Linux.', run: runSuite });
