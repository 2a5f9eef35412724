import { apiContender, bareContender, runComparison, type BenchRun } from '../bench-run.ts';
import type { ComparedContender, Contender } from '../report/comparison.ts';
import { worstGoal } from '../report/goals.ts';
import type { RequestPlan } from '../load/request-plan.ts';
import { groupSize, modelOfSize, pathOf } from '../sample-post.ts';

const variants = 50;
const express = 'bare express, from memory';
const fromOf = (objects: number): string => `svc, of ${objects} objects`;

/** Twenty matches with their total. */
const selectors = {
  label: (batch: number): string => `labelSelector=batch%3Db-${batch}`,
  field: (batch: number): string => `fieldSelector=spec.category%3Dc-${batch}`,
};
const ordinarySort = 'spec.priority,desc';
/** Every index that can sort; the last sorts by two. */
const sorts = [
  'metadata.name',
  'metadata.namespace',
  'metadata.creationTimestamp,desc',
  'metadata.deletionTimestamp',
  'spec.slug,desc',
  'spec.category',
  'spec.publishedAt,desc',
  'spec.publishedAt&sort=spec.priority,desc',
];

type Query = (batch: number) => string;

/** Right after loading, before vacuum and analyze: the cost of a list after a burst of writes. */
export async function benchFreshList(run: BenchRun, objects: number): Promise<void> {
  for (const [name, selector] of Object.entries(selectors)) {
    const paths = pathsOf((batch) => `${selector(batch)}&sort=${ordinarySort}`, objects);
    const svc = apiContender(run, fromOf(objects), { connections: 1, plan: () => ({ type: 'get', paths }) });
    run.report.compared(`list 20 by ${name}, c=1, just loaded`, [{ name: svc.name, sample: await svc.run() }]);
  }
}

/** Whether a list's cost depends on its response or on the size of the table. Sizes in turn, the largest first. */
export async function benchList(run: BenchRun): Promise<void> {
  const { options, report, express: bare } = run;
  const comparisons = new Map<string, ComparedContender[]>();
  for (const [name, selector] of Object.entries(selectors)) {
    const query: Query = (batch) => `${selector(batch)}&sort=${ordinarySort}`;
    const [largest] = await checkAll(run, query);
    await bare.answer(largest!);
    const paths = [...largest!.keys()];
    for (const connections of options.isQuick ? [1] : listConnections(options.connections)) {
      const scenario = `list 20 by ${name}, c=${connections}`;
      const bareLoad = { connections, plan: (): RequestPlan => ({ type: 'get', paths }) };
      const compared = await runComparison(run, scenario, [
        ...sizesInTurn(run, query, connections),
        bareContender(run, express, bare, bareLoad),
      ]);
      if (connections === 1) comparisons.set(scenario, compared);
    }
  }
  for (const sort of options.isQuick ? sorts.slice(-2) : sorts) {
    const scenario = `list 20, sort=${sort.replaceAll('&sort=', ' ')}, c=1`;
    comparisons.set(scenario, await benchSort(run, scenario, sort));
  }
  flatGoals(run, comparisons);
  const objects = options.sizes.at(-1)!;
  if (objects < 1_000_000)
    report.fact('not measured', `lists of 1 000 000 objects, only of ${objects}: --large=1000000`);
}

/** By label and by field in turn. */
async function benchSort(run: BenchRun, scenario: string, sort: string): Promise<ComparedContender[]> {
  const query: Query = (batch) => `${batch % 2 === 0 ? selectors.label(batch) : selectors.field(batch)}&sort=${sort}`;
  await checkAll(run, query);
  const [largest, ...smaller] = sizesInTurn(run, query, 1);
  const smallest = smaller.at(-1);
  return runComparison(run, scenario, [largest!, ...(smallest === undefined ? [] : [smallest])]);
}

function flatGoals(
  { report, options }: BenchRun,
  comparisons: ReadonlyMap<string, readonly ComparedContender[]>,
): void {
  const [smallest, largest] = [options.sizes[0]!, options.sizes.at(-1)!];
  const of = (read: (compared: readonly ComparedContender[]) => number | undefined): Map<string, number> =>
    new Map(
      [...comparisons].flatMap(([scenario, compared]): [string, number][] =>
        read(compared) === undefined ? [] : [[scenario, read(compared)!]],
      ),
    );
  worstGoal(report, `list 20 of ${largest}, median at c=1`, {
    values: of((compared) => compared[0]!.sample.p50),
    under: 10,
    unit: 'ms',
  });
  // The rate of the first line divided by the smallest size's: the inverse says how many times as long the largest
  // takes.
  const times = of((compared) => compared.find(({ name }) => name === fromOf(smallest))?.ratio?.median);
  worstGoal(report, `list 20 of ${largest}, against ${smallest}`, {
    values: new Map([...times].map(([scenario, ratio]) => [scenario, 1 / ratio])),
    under: 3,
    unit: 'times as long',
  });
}

function sizesInTurn(run: BenchRun, query: Query, connections: number): Contender[] {
  return run.options.sizes.toReversed().map((objects) => {
    const paths = pathsOf(query, objects);
    return apiContender(run, fromOf(objects), { connections, plan: () => ({ type: 'get', paths }) });
  });
}

function listConnections(connections: readonly number[]): number[] {
  return [...new Set([...connections, 16])].toSorted((a, b) => b - a);
}

/** With varying values, so that no plan or page is favoured. */
function pathsOf(query: Query, objects: number): string[] {
  return Array.from(
    { length: variants },
    (_, i) =>
      `${pathOf(modelOfSize(objects))}?${query(Math.floor((i * (objects / groupSize)) / variants))}&page=1&size=${groupSize}`,
  );
}

/**
 * The responses by path for each size, the largest first. Checks the results, because wrong ones would make the
 * measurement useless.
 */
async function checkAll({ api, options }: BenchRun, query: Query): Promise<Map<string, string>[]> {
  const all: Map<string, string>[] = [];
  for (const objects of options.sizes.toReversed()) {
    const bodies = new Map<string, string>();
    for (const path of pathsOf(query, objects)) {
      const text = await api.fetch(path);
      const { items, total } = JSON.parse(text) as { items: unknown[]; total: number };
      if (items.length !== groupSize || total !== groupSize)
        throw new Error(`${path} has ${items.length} of ${total} objects instead of ${groupSize}`);
      bodies.set(path, text);
    }
    all.push(bodies);
  }
  return all;
}
