/** `make fuzz`: hostile requests by the hundred thousand; every one must be answered as the contract says. Exits 1 on any that is not. */
import { writeFileSync } from 'node:fs';
import { parseFuzzOptions, usage, type FuzzOptions } from './fuzz-options.ts';
import { FuzzRun, showCase, type BatchMode } from './fuzz-run.ts';
import type { FuzzReport } from './fuzz-report.ts';
import { ServerProcess } from './server/server-process.ts';
import { caseAt } from './case-at.ts';
import { prepareWorld } from './world.ts';

const progressMs = 15_000;
const longestBatchMs = 15_000;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { seed, areas, concurrency, number, dataParent } = options;
  const server = await ServerProcess.start(dataParent);
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error('interrupted')));
  });
  try {
    const world = await prepareWorld((method, path, body) => server.call(method, path, body), server);
    const run = new FuzzRun({ target: server, seed, areas, world, concurrency, slow: true });
    const work = async (): Promise<void> => {
      if (number === undefined) await runBatches(run, server, options);
      else print(await showSingle(run, number, { seed, areas, world }));
    };
    await Promise.race([work(), interrupted]);
    return await run.finish();
  } finally {
    await server.stop();
  }
}

async function runBatches(run: FuzzRun, server: ServerProcess, { seconds, requests }: FuzzOptions): Promise<void> {
  const began = Date.now();
  const goesOn = (): boolean => (requests === undefined ? Date.now() - began < seconds * 1000 : run.report.requests < requests);
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
    print(`${run.report.requests} requests, ${Math.round(run.report.requests / ((told - began) / 1000))} a second, ${run.report.findings.size} violations`);
  }
  print(`memory of the server: ${Math.round(atStart)} MB after warming up, at most ${Math.round(most)}, ${Math.round(server.residentMemory)} at the end`);
}

/** A case, and what it was answered. */
async function showSingle(run: FuzzRun, number: number, source: Parameters<typeof caseAt>[1]): Promise<string> {
  const { outcomes } = await run.single(number);
  const answers = outcomes.flatMap(({ answers: each }) => each.map(({ status, body }) => `    ${status} ${body.toString('utf8', 0, 2000)}`));
  const fuzzCase = caseAt(number, source);
  return [`case ${number}, ${fuzzCase.area}`, showCase(fuzzCase), 'answered', ...answers].join('\n');
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
  print(`seed ${options.seed}`);
  const report = await fuzz(options);
  print(report.toString());
  print(`fuzz: ${report.requests} requests, ${report.findings.size} violations, seed ${options.seed}`);
  if (options.summaryFile !== undefined) writeFileSync(options.summaryFile, JSON.stringify(report.summary));
  return report.findings.size === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
