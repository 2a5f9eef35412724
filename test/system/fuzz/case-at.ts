import type { AttackArea, FuzzCase } from './fuzz-case.ts';
import { SeededRandom } from '../harness/seeded-random.ts';
import type { FuzzTargets } from './fuzz-targets.ts';

export interface CaseSource<W = FuzzTargets> {
  seed: string;
  areas: readonly AttackArea<W>[];
  fixtures: W;
}

/** The case of a number; it depends only on the seed, areas and fixtures, not on earlier cases. */
export function caseAt<W>(number: number, { seed, areas, fixtures }: CaseSource<W>): FuzzCase {
  const random = new SeededRandom(`${seed}/${number}`);
  const sum = areas.reduce((total, { weight }) => total + weight, 0);
  let point = random.fraction() * sum;
  const area = areas.find(({ weight }) => (point -= weight) < 0) ?? areas.at(-1)!;
  return { area: area.name, ...area.generate(random, fixtures) };
}
