import type { Area, FuzzCase } from './fuzz-case.ts';
import { Random } from './random.ts';
import type { World } from './world.ts';

export interface CaseSource {
  seed: string;
  areas: readonly Area[];
  world: World;
}

/** The case of a number: the same for the same seed, areas and world, whatever ran before. */
export function caseAt(number: number, { seed, areas, world }: CaseSource): FuzzCase {
  const random = new Random(`${seed}/${number}`);
  const sum = areas.reduce((total, { weight }) => total + weight, 0);
  let point = random.fraction() * sum;
  const area = areas.find(({ weight }) => (point -= weight) < 0) ?? areas.at(-1)!;
  return { area: area.name, ...area.generate(random, world) };
}
