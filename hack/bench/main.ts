import { ApiProcess } from './api-process.ts';
import { BareProcess } from './bare-process.ts';
import { parseBenchOptions, usage, type BenchOptions } from './bench-options.ts';
import { fill, type BenchRun } from './bench-run.ts';
import type { LoadJob } from './load.ts';
import { reportMachine } from './machine-facts.ts';
import { readMemory } from './process-cpu.ts';
import { summarizeProfile } from './profile-summary.ts';
import { number, Report } from './report.ts';
import { largeModel, smallModel, writtenModel } from './sample-post.ts';
import type { Sample } from './sample.ts';
import { benchCreate } from './scenarios/create.ts';
import { benchGet } from './scenarios/get.ts';
import { benchFreshList, benchList, smallCount } from './scenarios/list.ts';
import { benchUpdate } from './scenarios/update.ts';
import { benchWatch } from './scenarios/watch.ts';
import { Worker } from './worker.ts';

const millisecondsAtRest = 3000;

async function bench(options: BenchOptions): Promise<Report> {
  const report = new Report();
  const api = await ApiProcess.start(options);
  const express = await BareProcess.start('express');
  const http = await BareProcess.start('http');
  const loader = new Worker<LoadJob, Sample>('load.ts');
  try {
    await reportMachine(report, api, options.dataParent);
    await Promise.race([runScenarios({ options, report, api, express, http, loader }), interruption()]);
  } finally {
    loader.stop();
    http.stop();
    express.stop();
    await api.stop();
  }
  return report;
}

/** Rejects on Ctrl-C, so that what was started is stopped. */
function interruption(): Promise<never> {
  return new Promise((_, reject) => {
    process.once('SIGINT', () => reject(new Error('interrupted')));
  });
}

async function runScenarios(run: BenchRun): Promise<void> {
  const { only } = run.options;
  const has = (name: (typeof only)[number]): boolean => only.includes(name);
  if (has('memory')) {
    await new Promise((resolve) => {
      setTimeout(resolve, millisecondsAtRest);
    });
    reportMemory(run, 'memory, at rest');
  }
  for (const model of [smallModel, largeModel, writtenModel]) await run.api.define(model);
  await fill(run, smallModel, smallCount);
  if (has('get')) await benchGet(run);
  if (has('create')) await benchCreate(run);
  if (has('update')) await benchUpdate(run);
  if (has('list') || has('memory')) await fillLarge(run);
  if (has('memory')) reportMemory(run, `memory, ${run.options.large} objects loaded`);
  if (has('list')) await benchList(run);
  if (has('watch')) await benchWatch(run);
  if (has('memory')) reportMemory(run, 'memory, at the end');
}

async function fillLarge(run: BenchRun): Promise<void> {
  const { large, only } = run.options;
  const seconds = await fill(run, largeModel, large);
  run.report.figure(`load ${large} objects by create, c=128`, 'svc', { rate: number(large / seconds) });
  if (only.includes('list')) await benchFreshList(run);
  // As autovacuum does within minutes; without it, it would do so in the middle of a comparison.
  await run.api.query('VACUUM (ANALYZE)');
}

function reportMemory({ api, report }: BenchRun, scenario: string): void {
  const { server, postgres } = readMemory({ server: api.pid, postmaster: api.postmaster });
  report.figure(scenario, 'svc', { cpu: `memory: server ${number(server)} MB, PostgreSQL ${number(postgres)} MB` });
}

async function main(args: string[]): Promise<number> {
  let options: BenchOptions;
  try {
    options = parseBenchOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`);
    return 2;
  }
  if (process.platform !== 'linux') {
    process.stderr.write('The bench reads /proc and needs Linux.\n');
    return 2;
  }
  const report = await bench(options);
  process.stdout.write(`${report.toString()}\n`);
  if (options.profileFolder !== undefined) process.stdout.write(await summarizeProfile(options.profileFolder));
  return report.failed ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
