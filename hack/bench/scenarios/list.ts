import { apiContender, bareContender, runComparison, type BenchRun } from '../bench-run.ts';
import type { RequestPlan } from '../request-plan.ts';
import { groupSize, largeModel, pathOf, smallModel, type SampleModel } from '../sample-post.ts';

/** Objects of the small model. */
export const smallCount = 1000;
const variants = 50;

/** Twenty matches with their total, sorted by another index than the one that selects. */
const queries = {
  'by label': (batch: number): string => `labelSelector=batch%3Db-${batch}&sort=spec.priority,desc&page=1&size=20`,
  'by field': (batch: number): string => `fieldSelector=spec.category%3Dc-${batch}&sort=spec.priority,desc&page=1&size=20`,
};

/** Right after loading, when nothing has been vacuumed or analyzed yet: what a list costs behind a burst of writes. */
export async function benchFreshList(run: BenchRun): Promise<void> {
  for (const [name, query] of Object.entries(queries)) {
    const plan = (): RequestPlan => ({ type: 'get', paths: pathsOf(query, largeModel, run.options.large) });
    const svc = apiContender(run, `svc, of ${run.options.large} objects`, { connections: 1, plan });
    run.report.compared(`list 20 ${name}, c=1, just loaded`, [{ name: svc.name, sample: await svc.run() }]);
  }
}

export async function benchList(run: BenchRun): Promise<void> {
  const { options, api, express } = run;
  for (const [name, query] of Object.entries(queries)) {
    const small = pathsOf(query, smallModel, smallCount);
    const large = pathsOf(query, largeModel, options.large);
    const bodies = new Map<string, string>();
    for (const path of large) bodies.set(path, await checked(api.fetch(path)));
    for (const path of small) await checked(api.fetch(path));
    await express.answer(bodies);
    for (const connections of options.connections) {
      const load = (chosen: string[]): { connections: number; plan: () => RequestPlan } => ({ connections, plan: () => ({ type: 'get', paths: chosen }) });
      await runComparison(run, `list 20 ${name}, c=${connections}`, [
        apiContender(run, `svc, of ${options.large} objects`, load(large)),
        apiContender(run, `svc, of ${smallCount} objects`, load(small)),
        bareContender(run, 'bare express, from memory', express, load(large)),
      ]);
    }
  }
}

/** With another value each time, so that no plan or page is favoured. */
function pathsOf(query: (batch: number) => string, model: SampleModel, count: number): string[] {
  return Array.from({ length: variants }, (_, i) => `${pathOf(model)}?${query(Math.floor((i * (count / groupSize)) / variants))}`);
}

/** A list that finds something else would be measured in vain. */
async function checked(answer: Promise<string>): Promise<string> {
  const text = await answer;
  const { items, total } = JSON.parse(text) as { items: unknown[]; total: number };
  if (items.length !== groupSize || total !== groupSize) throw new Error(`the list has ${items.length} of ${total} objects instead of ${groupSize}`);
  return text;
}
