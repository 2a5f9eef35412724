import { apiContender, bareContender, createObjects, newNames, runComparison, type BenchRun } from '../bench-run.ts';
import { ratioGoal } from '../report/goals.ts';
import type { RequestPlan } from '../load/request-plan.ts';
import { pathOf, writtenModel } from '../sample-post.ts';

const parsing = 'bare express, parses only';
const applying = 'svc, server-side apply';

/** Updates that name the previous resourceVersion, one object for each connection; as PUT, and as apply patches. */
export async function benchUpdate(run: BenchRun): Promise<void> {
  for (const connections of run.options.connections) {
    const names = newNames();
    const objects = Array.from({ length: connections }, (_, i) => `${names}-${i}`);
    await createObjects(run.api, writtenModel, objects);
    const bodies = await Promise.all(
      objects.map(async (name): Promise<[string, string]> => [
        `${pathOf(writtenModel)}/${name}`,
        await run.api.fetch(`${pathOf(writtenModel)}/${name}`),
      ]),
    );
    await run.express.answer(new Map(bodies));
    const plan: RequestPlan = { type: 'update', model: writtenModel, objects };
    const load = { connections, plan: () => plan };
    const scenario = `update with resourceVersion, c=${connections}`;
    const compared = await runComparison(run, scenario, [
      apiContender(run, 'svc', load),
      bareContender(run, parsing, run.express, load),
      apiContender(run, applying, { connections, plan: () => ({ ...plan, applied: true }) }),
    ]);
    ratioGoal(run.report, scenario, compared, { to: applying, atMost: 2 });
    if (connections > 1) ratioGoal(run.report, scenario, compared, { to: parsing, atLeast: 0.5 });
  }
}
