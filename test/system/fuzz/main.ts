/**
 * `make fuzz`: hundreds of thousands of hostile requests to both services; each response must follow the contract.
 * Exits 1 on any violation.
 */
import { print, runMain, untilInterrupted, type Outcome } from '../harness/run/run-main.ts';
import { parseFuzzOptions, usage, type FuzzOptions } from './fuzz-options.ts';
import { showCase, type BatchMode } from './fuzz-run.ts';
import type { FuzzReport } from './fuzz-report.ts';
import type { Service, ServiceRun } from './services.ts';

const progressMs = 15_000;
const longestBatchMs = 15_000;

/** Attacks one service with its share of `seconds` or `requests`. */
async function fuzz(service: Service, options: FuzzOptions): Promise<FuzzReport> {
  const attack = await service.start(options);
  try {
    const work = async (): Promise<void> => {
      if (options.number === undefined) await runBatches(attack, options);
      else print(await showSingle(attack, options.number));
    };
    await untilInterrupted(work());
    return await attack.run.finish();
  } finally {
    await attack.server.stop();
  }
}

async function runBatches({ run, server }: ServiceRun, { seconds, requests = Infinity }: FuzzOptions): Promise<void> {
  const began = Date.now();
  const left = (): number => requests - run.report.requests;
  const continues = (): boolean => left() > 0 && (requests < Infinity || Date.now() - began < seconds * 1000);
  // On a slow machine the time ends before the count.
  const batch = (mode: BatchMode, count: number): Promise<void> =>
    run.batch(mode, Math.min(count, Math.max(left(), 0)), Date.now() + longestBatchMs);
  // Warm-up, so that compiled code and caches do not count as growth.
  await batch('free', Math.min(3000, requests / 4));
  const atStart = server.residentMemory;
  let most = atStart;
  let reportedAt = began;
  while (continues()) {
    await batch('exclusive', 60);
    await batch('quiet', Math.min(3000, requests / 4));
    await batch('free', 4000);
    most = Math.max(most, server.residentMemory);
    if (Date.now() - reportedAt < progressMs) continue;
    reportedAt = Date.now();
    print(
      `${run.report.requests} requests, ${Math.round(run.report.requests / ((reportedAt - began) / 1000))} a second, ${run.report.findings.size} violations`,
    );
  }
  print(
    `memory of the server: ${Math.round(atStart)} MB after warming up, at most ${Math.round(most)}, ${Math.round(server.residentMemory)} at the end`,
  );
}

/** Prints a case with its responses. */
async function showSingle({ run, caseAt }: ServiceRun, number: number): Promise<string> {
  const { outcomes } = await run.single(number);
  const answers = outcomes.flatMap(({ answers: each }) =>
    each.map(({ status, body }) => `    ${status} ${body.toString('utf8', 0, 2000)}`),
  );
  const fuzzCase = caseAt(number);
  return [`case ${number}, ${fuzzCase.area}`, showCase(fuzzCase), 'answered', ...answers].join('\n');
}

/** A service's share of the time or of the requests. */
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

async function runSuite(options: FuzzOptions): Promise<Outcome> {
  const reports = await fuzzAll(options);
  const sum = (count: (report: FuzzReport) => number): number =>
    reports.reduce((all, report) => all + count(report), 0);
  print(
    `fuzz: ${sum(({ requests }) => requests)} requests, ${sum(({ findings }) => findings.size)} violations, seed ${options.seed}`,
  );
  return {
    passed: sum(({ summary }) => summary.passed),
    failed: sum(({ summary }) => summary.failed),
    failures: reports.flatMap(({ summary }) => summary.failures),
  };
}

await runMain({
  usage,
  parse: parseFuzzOptions,
  needsLinux: 'The meter of the event loop reads /proc and needs Linux.',
  run: runSuite,
});
