import { apiContender, bareContender, runComparison, type BenchRun } from '../bench-run.ts';
import { ratioGoal } from '../report/goals.ts';
import type { RequestPlan } from '../load/request-plan.ts';
import { modelOfSize, pathOf } from '../sample-post.ts';

const objects = 100;
const express = 'bare express, from memory';

/** Reads one object by name, a hundred in turn, compared with servers that have its bytes in memory. */
export async function benchGet(run: BenchRun): Promise<void> {
  const model = modelOfSize(run.options.sizes[0]!);
  const paths = Array.from({ length: objects }, (_, i) => `${pathOf(model)}/post-${i}`);
  const bodies = new Map<string, string>();
  for (const path of paths) bodies.set(path, await run.api.fetch(path));
  await run.express.answer(bodies);
  await run.http.answer(bodies);
  for (const connections of run.options.connections) {
    const load = { connections, plan: (): RequestPlan => ({ type: 'get', paths }) };
    const size = Buffer.byteLength(bodies.get(paths[0]!)!);
    const compared = await runComparison(run, `GET one object (${size} B), c=${connections}`, [
      apiContender(run, 'svc', load),
      bareContender(run, express, run.express, load),
      bareContender(run, 'bare node:http, from memory', run.http, load),
    ]);
    if (connections === 1) continue;
    ratioGoal(run.report, `GET one object, c=${connections}`, compared, { to: express, atLeast: 1.2 });
    ratioGoal(run.report, `GET one object, c=${connections}, the aim`, compared, { to: express, atLeast: 1.6 });
  }
}
