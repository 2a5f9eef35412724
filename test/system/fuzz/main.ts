/**
 * `make fuzz`: hostile requests by the hundred thousand, to both services; every one must be answered as its contract
 * says. Exits 1 on any that is not.
 */
import { writeFileSync } from 'node:fs';
import { parseFuzzOptions, usage, type FuzzOptions } from './fuzz-options.ts';
import { showCase, type BatchMode } from './fuzz-run.ts';
import type { FuzzReport } from './fuzz-report.ts';
import type { Service, ServiceRun } from './services.ts';

const progressMs = 15_000;
const longestBatchMs = 15_000;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Attacks one service; `seconds` or `requests` are its share. */
async function fuzz(service: Service, options: FuzzOptions): Promise<FuzzReport> {
  const attack = await service.start(options);
  try {
    const work = async (): Promise<void> => {
      if (options.number === undefined) await runBatches(attack, options);
      else print(await showSingle(attack, options.number));
    };
    await Promise.race([work(), interruption()]);
    return await attack.run.finish();
  } finally {
    await attack.server.stop();
  }
}

/** Rejects on a signal, so that what was started is stopped. */
function interruption(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error('interrupted')));
  });
}

async function runBatches({ run, server }: ServiceRun, { seconds, requests }: FuzzOptions): Promise<void> {
  const began = Date.now();
  const goesOn = (): boolean =>
    requests === undefined ? Date.now() - began < seconds * 1000 : run.report.requests < requests;
  // On a slow machine a batch ends before its count is reached.
  const batch = (mode: BatchMode, count: number): Promise<void> => run.batch(mode, count, Date.now() + longestBatchMs);
  // Warm, so that what is compiled and cached once is not taken for growth.
  await batch('free', 3000);
  const atStart = server.residentMemory;
  let most = atStart;
  let told = began;
  while (goesOn()) {
    await batch('free', 4000);
    await batch('quiet', 3000);
    await batch('exclusive', 60);
    most = Math.max(most, server.residentMemory);
    if (Date.now() - told < progressMs) continue;
    told = Date.now();
    print(
      `${run.report.requests} requests, ${Math.round(run.report.requests / ((told - began) / 1000))} a second, ${run.report.findings.size} violations`,
    );
  }
  print(
    `memory of the server: ${Math.round(atStart)} MB after warming up, at most ${Math.round(most)}, ${Math.round(server.residentMemory)} at the end`,
  );
}

/** A case, and what it was answered. */
async function showSingle({ run, caseAt }: ServiceRun, number: number): Promise<string> {
  const { outcomes } = await run.single(number);
  const answers = outcomes.flatMap(({ answers: each }) =>
    each.map(({ status, body }) => `    ${status} ${body.toString('utf8', 0, 2000)}`),
  );
  const fuzzCase = caseAt(number);
  return [`case ${number}, ${fuzzCase.area}`, showCase(fuzzCase), 'answered', ...answers].join('\n');
}

/** What a service has of the time, or of the requests. */
function shareOf({ share }: Service, options: FuzzOptions): FuzzOptions {
  const all = options.services.reduce((sum, service) => sum + service.share, 0);
  const { seconds, requests } = options;
  return {
    ...options,
    seconds: (seconds * share) / all,
    ...(requests === undefined ? {} : { requests: Math.ceil((requests * share) / all) }),
  };
}

async function fuzzAll(options: FuzzOptions): Promise<FuzzReport[]> {
  const reports: FuzzReport[] = [];
  for (const service of options.services) {
    print(`\n${service.name}, seed ${options.seed}`);
    const report = await fuzz(service, shareOf(service, options));
    print(report.toString());
    reports.push(report);
  }
  return reports;
}

function summaryOf(reports: readonly FuzzReport[]): FuzzReport['summary'] {
  const all = reports.map(({ summary }) => summary);
  return {
    passed: all.reduce((sum, { passed }) => sum + passed, 0),
    failed: all.reduce((sum, { failed }) => sum + failed, 0),
    failures: all.flatMap(({ failures }) => failures),
  };
}

async function main(args: string[]): Promise<number> {
  let options: FuzzOptions;
  try {
    options = parseFuzzOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`);
    return 2;
  }
  if (process.platform !== 'linux') {
    process.stderr.write('The meter of the event loop reads /proc and needs Linux.\n');
    return 2;
  }
  const reports = await fuzzAll(options);
  const findings = reports.reduce((sum, report) => sum + report.findings.size, 0);
  print(
    `fuzz: ${reports.reduce((sum, { requests }) => sum + requests, 0)} requests, ${findings} violations, seed ${options.seed}`,
  );
  if (options.summaryFile !== undefined) writeFileSync(options.summaryFile, JSON.stringify(summaryOf(reports)));
  return findings === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
