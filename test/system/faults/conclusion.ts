import { describe } from './fault-run.ts';
import type { FaultRecord, History, ModelChangeRecord } from './history.ts';
import type { Crowd } from './crowd.ts';
import { makeModel } from './definitions.ts';
import type { RecordedDatabase, Recorder } from './recorder.ts';
import { until } from './until.ts';
import type { Target } from './workload/fault-client.ts';
import { readList } from './workload/read-list.ts';
import { namespaces, namespacesPath, sampleModels } from './workload/sample-models.ts';

/** A watcher hears by the end of its stream, if by nothing else, how far it is. */
const settleMs = 60_000;

/** A run whose clients are to be heard. */
export interface Witnessed {
  seed: number;
  crowd: Crowd;
  recorder: Recorder;
  database: RecordedDatabase;
  /** Each is asked for its lists at the end. */
  replicas: readonly [Target, ...Target[]];
  modelChanges: ModelChangeRecord[];
  faults: FaultRecord[];
  /** What went wrong beside what the history shows. */
  problems: string[];
}

/** Makes the namespaces and models that the crowd works with. */
export async function makeGround({
  crowd: { operator },
  replicas,
  modelChanges,
}: Pick<Witnessed, 'crowd' | 'replicas' | 'modelChanges'>): Promise<void> {
  for (const name of namespaces.slice(1)) {
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await operator.api.request({ port: replicas[0].port, method: 'POST', path: namespacesPath, body });
  }
  for (const model of sampleModels) await makeModel({ operator, replicas, modelChanges }, model);
}

/**
 * Lets the crowd come to an end: no change is made any more, everybody comes to know the last one, and what is there is
 * read once more.
 */
export async function concludeHistory(run: Witnessed): Promise<History> {
  const { seed, crowd, recorder, replicas, modelChanges, faults, problems } = run;
  await crowd.settle();
  await heardOfEverything(run);
  const lists = await finalLists(run);
  await crowd.stop();
  await recorder.stop();
  for (const revision of recorder.lost) problems.push(`revision ${revision} was in the log, and is no longer`);
  crowd.operator.api.close();
  return {
    seed: String(seed),
    replicas: replicas.map(({ name }) => name),
    models: sampleModels.map(({ name, namespaced, unique }) => ({ name, namespaced, unique })),
    incarnations: await recorder.incarnations(),
    modelChanges,
    operations: crowd.book.operations,
    watchers: crowd.watchers.map(({ record }) => record),
    log: recorder.rows,
    compactions: recorder.compactions,
    finalStates: [...(await recorder.finalStates()), ...lists],
    faults,
  };
}

async function heardOfEverything({ database, crowd: { watchers }, problems }: Witnessed): Promise<void> {
  try {
    const [row] = await database.query<{ newest: string }>('SELECT max(rev) AS newest FROM platform.change_log');
    const newest = Number(row?.newest);
    await until(`every watcher has heard of revision ${newest}`, settleMs, () =>
      watchers.every(({ position, isOpen }) => position >= newest && isOpen),
    );
  } catch (error) {
    const where = watchers
      .map(({ record, position, isOpen }) => `${record.id} at ${position}${isOpen ? '' : ', closed'}`)
      .join('; ');
    problems.push(`${describe(error)}: ${where}`);
  }
}

async function finalLists({ crowd, replicas, problems }: Witnessed): Promise<History['finalStates']> {
  const states: History['finalStates'] = [];
  for (const replica of replicas) {
    for (const model of sampleModels) {
      const { operation } = await readList(crowd.operator, {
        model,
        namespace: '',
        selector: { labels: [], fields: [] },
        target: replica,
      });
      if (operation.outcome.type === 'ok')
        states.push({
          source: replica.name,
          model: model.name,
          revision: operation.outcome.revision,
          objects: operation.outcome.items,
        });
      else problems.push(`${replica.name} did not list ${model.name} at the end`);
    }
  }
  return states;
}
