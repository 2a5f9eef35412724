import { apiContender, bareContender, runComparison, type BenchRun } from '../bench-run.ts';
import type { RequestPlan } from '../request-plan.ts';
import { pathOf, smallModel } from '../sample-post.ts';

const objects = 100;

/** One object by name, out of a hundred in turn, against servers that have its bytes in memory. */
export async function benchGet(run: BenchRun): Promise<void> {
  const paths = Array.from({ length: objects }, (_, i) => `${pathOf(smallModel)}/post-${i}`);
  const bodies = new Map<string, string>();
  for (const path of paths) bodies.set(path, await run.api.fetch(path));
  await run.express.answer(bodies);
  await run.http.answer(bodies);
  for (const connections of run.options.connections) {
    const load = { connections, plan: (): RequestPlan => ({ type: 'get', paths }) };
    const size = Buffer.byteLength(bodies.get(paths[0]!)!);
    await runComparison(run, `GET one object (${size} B), c=${connections}`, [
      apiContender(run, 'svc', load),
      bareContender(run, 'bare express, from memory', run.express, load),
      bareContender(run, 'bare node:http, from memory', run.http, load),
    ]);
  }
}
