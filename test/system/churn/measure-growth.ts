/** By name; a name that ends in `Bytes` is shown in megabytes. */
export type Counts = Readonly<Record<string, number>>;

export interface GrowthOptions {
  rounds: number;
  round: (number: number) => Promise<void>;
  measure: () => Promise<Counts>;
  /** By which count it may grow between the first and the last measurement. What has no limit is only shown. */
  allowed: Counts;
}

/** Compiled code and caches grow first: the informer bus alone keeps the newest changes, 8 MiB of text. */
const warmUpShare = 0.5;
const samples = 10;

/**
 * Repeats a round, prints what is measured ten times in the second half, and answers which counts have grown, with by how
 * much.
 */
export async function measureGrowth({ rounds, round, measure, allowed }: GrowthOptions): Promise<string[]> {
  const warmUp = Math.max(1, Math.round(rounds * warmUpShare));
  const every = Math.max(1, Math.round((rounds - warmUp) / samples));
  let first: Counts | undefined;
  let last: Counts = {};
  let began = performance.now();
  let since = 0;
  for (let number = 1; number <= rounds; number += 1) {
    await round(number);
    since += 1;
    if (number < warmUp || ((number - warmUp) % every !== 0 && number !== rounds)) continue;
    const msEach = (performance.now() - began) / since;
    last = await measure();
    if (first === undefined) printRow(['rounds', ...Object.keys(last).map(titleOf), 'ms each']);
    first ??= last;
    printRow([String(number), ...Object.entries(last).map(([name, count]) => textOf(name, count)), msEach.toFixed(0)]);
    began = performance.now();
    since = 0;
  }
  const grown = Object.entries(allowed).flatMap(([name, most]) => {
    const growth = last[name]! - first![name]!;
    return growth > most ? [`${titleOf(name)} grew by ${textOf(name, growth)}`] : [];
  });
  const after = `over ${rounds - warmUp} starts and stops`;
  process.stdout.write(grown.length === 0 ? `no growth ${after}\n` : `GREW ${after}: ${grown.join(', ')}\n`);
  return grown;
}

const bytesEnding = /Bytes$/;

function titleOf(name: string): string {
  return name.replace(bytesEnding, ' MB');
}

function textOf(name: string, count: number): string {
  return bytesEnding.test(name) ? (count / 1e6).toFixed(1) : String(count);
}

function printRow(cells: readonly string[]): void {
  process.stdout.write(`${cells.map((cell) => cell.padStart(11)).join(' ')}\n`);
}
