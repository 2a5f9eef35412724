/**
 * `make attack`: attackers of every kind, and a user with good credentials who must not notice. Exits 1 where the user
 * does.
 */
import { writeFileSync } from 'node:fs';
import { parseAttackOptions, usage, type AttackOptions } from './attack-options.ts';
import { runAttacks, type Verdict } from './attack-run.ts';

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function line({ name, way, p50, p99, results, failures }: Verdict): string {
  const told = Object.entries(results)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ');
  return [
    `${way.padEnd(8)} ${name.padEnd(52)} ${p50.toFixed(1).padStart(7)} ${p99.toFixed(1).padStart(7)} ms   ${told}`,
    ...failures.map((failure) => `  FAILED ${failure}`),
  ].join('\n');
}

async function main(args: string[]): Promise<number> {
  let options: AttackOptions;
  try {
    options = parseAttackOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${usage}`);
    return 2;
  }
  if (process.platform !== 'linux') {
    process.stderr.write('Attackers have addresses of their own in 127.0.0.0/8: this needs Linux.\n');
    return 2;
  }
  const verdicts: Verdict[] = [];
  print(
    `what a user waits for at 20 requests a second, p50 and p99, and what attackers were answered; times are ${options.isSample ? 'shown' : 'judged'}`,
  );
  try {
    await runAttacks(options, (verdict) => {
      verdicts.push(verdict);
      print(line(verdict));
    });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    verdicts.push({ name: 'the run', way: '', p50: 0, p99: 0, results: {}, failures: ['did not come to its end'] });
  }
  const failed = verdicts.filter(({ failures }) => failures.length > 0);
  const summary = {
    passed: verdicts.length - failed.length,
    failed: failed.length,
    failures: failed.map(({ name, way, failures }) => `attack: ${way}, ${name}: ${failures.join('; ')}`),
  };
  if (options.summaryFile !== undefined) writeFileSync(options.summaryFile, JSON.stringify(summary));
  print(`attack: ${summary.passed} passed, ${summary.failed} failed, seed ${options.seed}`);
  return failed.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
