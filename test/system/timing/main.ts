/**
 * `make timing`: whether times reveal why a login was refused. Measures refusals for different reasons alternately, on
 * a separate server; exits 1 if their medians differ by more than chance, a hundredth and 0.1 ms, or if their bodies
 * differ. A busy machine widens the interval, but does not falsify the verdict.
 */
import { parseArgs } from 'node:util';
import { text, wholeNumber } from '../harness/run/option-values.ts';
import { runMain, type Outcome } from '../harness/run/run-main.ts';
import { SeededRandom } from '../harness/seeded-random.ts';
import { ApiServer } from '../harness/process/api-server.ts';
import { PostgresProcess, unsafeSettings } from '../harness/process/postgres-process.ts';
import { unlimitedAccess } from '../harness/process/unlimited-access.ts';
import { WireClient } from '../harness/wire/wire-client.ts';
import { prepareAttempts, type Comparison } from './attempts.ts';
import { compareMedians } from './compare-medians.ts';

/** Share of the median, and milliseconds: a difference below both is lost in network and server noise. */
const allowedShare = 0.01;
const allowedMs = 0.1;

interface Series {
  reason: string;
  /** Milliseconds. */
  times: number[];
  /** All different responses. */
  answers: Set<string>;
}

/** All kinds in each round, in random order, so that disturbances affect all. */
async function measure({ kinds, each }: Comparison, client: WireClient, random: SeededRandom): Promise<Series[]> {
  const all = kinds.map(({ reason, next }) => ({ reason, next, times: [] as number[], answers: new Set<string>() }));
  for (let round = 0; round < each; round += 1) {
    for (const series of all.map((one) => ({ one, at: random.fraction() })).toSorted((a, b) => a.at - b.at)) {
      const { answers, began, ended, failure } = await client.send(series.one.next());
      const [answer] = answers;
      if (answer === undefined) throw new Error(`no answer: ${JSON.stringify(failure)}`);
      series.one.times.push(ended - began);
      series.one.answers.add(`${answer.status} ${answer.body.toString()}`);
    }
  }
  return all;
}

/** Describes the results, and whether they pass. */
function judge(
  what: string,
  [first, ...others]: readonly Series[],
  random: SeededRandom,
): { lines: string[]; isWell: boolean } {
  let isWell = true;
  const lines = others.map(({ reason, times, answers }) => {
    const { first: base, second, low, high } = compareMedians(first!.times, times, random);
    const differs = (low > 0 || high < 0) && Math.abs(second - base) > Math.max(allowedMs, allowedShare * base);
    const isSame = JSON.stringify([...answers].toSorted()) === JSON.stringify([...first!.answers].toSorted());
    isWell &&= !differs && isSame;
    const percent = (ms: number): string => `${((ms / base) * 100).toFixed(2)} %`;
    const verdict = `${differs ? 'DIFFERS in time' : 'no difference in time'}${isSame ? '' : `, and DIFFERS in answers: ${[...answers].join(' ')} and ${[...first!.answers].join(' ')}`}`;
    return `${what}: ${first!.reason} ${base.toFixed(2)} ms, ${reason} ${second.toFixed(2)} ms: ${percent(second - base)} (99.9 % between ${percent(low)} and ${percent(high)}, ${times.length} of each): ${verdict}`;
  });
  return { lines, isWell };
}

const usage = `Usage: make timing ARGS='...'
  --logins=400        refused logins of each kind
  --signatures=3000   refused signatures of each kind
`;

interface TimingOptions {
  logins: number;
  signatures: number;
}

function parse(args: string[]): TimingOptions {
  const { values } = parseArgs({ args, options: { logins: text, signatures: text } });
  return {
    logins: wholeNumber('logins', values.logins ?? '400', 1),
    signatures: wholeNumber('signatures', values.signatures ?? '3000', 1),
  };
}

async function run({ logins, signatures }: TimingOptions): Promise<Outcome> {
  const postgres = await PostgresProcess.start({ settings: unsafeSettings });
  const server = await ApiServer.start({
    command: 'serve',
    parent: postgres.folder,
    databaseUrl: postgres.url(),
    // Without a clock check, so that a signature is valid at any time.
    args: [...unlimitedAccess, '--svc.access.signature.max-skew=0s', '--svc.log.level=warn'],
  });
  const client = new WireClient({ port: server.accessPort, token: '', limitMs: 30_000, slowLimitMs: 30_000 });
  const random = new SeededRandom('timing');
  let isWell = true;
  try {
    for (const comparison of await prepareAttempts(server, { logins, signatures })) {
      const verdict = judge(comparison.what, await measure(comparison, client, random), random);
      for (const line of verdict.lines) process.stdout.write(`${line}\n`);
      isWell &&= verdict.isWell;
    }
  } finally {
    client.close();
    await server.stop();
    await postgres.stop();
  }
  process.stdout.write(isWell ? 'timing: no difference found\n' : 'timing: FAILED\n');
  return isWell ? { passed: 1, failures: [] } : { passed: 0, failures: ['timing: refusals can be told apart'] };
}

await runMain({ usage, parse, run });
