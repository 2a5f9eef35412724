/** `make attack`: all attacks, with a user whose requests must still succeed. Exits 1 if the user is affected. */
import { print, runMain, type Outcome } from '../harness/run/run-main.ts';
import { parseAttackOptions, usage, type AttackOptions } from './attack-options.ts';
import { runAttacks, type Verdict } from './attack-run.ts';

function line({ name, way, p50, p99, results, failures }: Verdict): string {
  const counts = Object.entries(results)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ');
  return [
    `${way.padEnd(8)} ${name.padEnd(52)} ${p50.toFixed(1).padStart(7)} ${p99.toFixed(1).padStart(7)} ms   ${counts}`,
    ...failures.map((failure) => `  FAILED ${failure}`),
  ].join('\n');
}

async function run(options: AttackOptions): Promise<Outcome> {
  const verdicts: Verdict[] = [];
  print(
    `latency of a user at 20 requests a second, p50 and p99, and the responses to attackers; times are ${options.isSample ? 'shown' : 'judged'}`,
  );
  try {
    await runAttacks(options, (verdict) => {
      verdicts.push(verdict);
      print(line(verdict));
    });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    verdicts.push({ name: 'the run', way: '', p50: 0, p99: 0, results: {}, failures: ['did not finish'] });
  }
  const failures = verdicts
    .filter((verdict) => verdict.failures.length > 0)
    .map((verdict) => `attack: ${verdict.way}, ${verdict.name}: ${verdict.failures.join('; ')}`);
  const passed = verdicts.length - failures.length;
  print(`attack: ${passed} passed, ${failures.length} failed, seed ${options.seed}`);
  return { passed, failures };
}

await runMain({
  usage,
  parse: parseAttackOptions,
  needsLinux: 'Attackers have addresses of their own in 127.0.0.0/8: this needs Linux.',
  run,
});
