import { describeError } from '../run/describe-error.ts';
import type { FaultRecord, History, ModelChangeRecord } from '../history/history.ts';
import type { Workload } from './workload.ts';
import { makeModel } from './define-models.ts';
import type { RecordedDatabase, ChangeLogRecorder } from './change-log-recorder.ts';
import { retryUntilTrue } from '../retry-until-true.ts';
import type { Target } from './recording-client.ts';
import { readList } from './read-list.ts';
import { namespaces, namespacesPath, sampleModels } from './sample-models.ts';

/** The end of its stream at the latest tells a watcher its position. Milliseconds. */
const settleMs = 60_000;

/** A run whose history is to be concluded. */
export interface RecordedRun {
  seed: number;
  workload: Workload;
  recorder: ChangeLogRecorder;
  database: RecordedDatabase;
  /** Each is listed at the end. */
  replicas: readonly [Target, ...Target[]];
  modelChanges: ModelChangeRecord[];
  faults: FaultRecord[];
  /** Problems that the history does not show. */
  problems: string[];
}

/** Creates the namespaces and models of the workload. */
export async function defineSampleModels({
  workload: { operator },
  replicas,
  modelChanges,
}: Pick<RecordedRun, 'workload' | 'replicas' | 'modelChanges'>): Promise<void> {
  for (const name of namespaces.slice(1)) {
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await operator.api.request({ port: replicas[0].port, method: 'POST', path: namespacesPath, body });
  }
  for (const model of sampleModels) await makeModel({ operator, replicas, modelChanges }, model);
}

/**
 * Ends the workload: waits until no change is made any more and all watchers have the last one, then reads the final
 * state.
 */
export async function concludeHistory(run: RecordedRun): Promise<History> {
  const { seed, workload, recorder, replicas, modelChanges, faults, problems } = run;
  await workload.settle();
  await heardOfEverything(run);
  const lists = await finalLists(run);
  await workload.stop();
  await recorder.stop();
  for (const revision of recorder.lost) problems.push(`revision ${revision} was in the log, and is no longer`);
  workload.operator.api.close();
  return {
    seed: String(seed),
    replicas: replicas.map(({ name }) => name),
    models: sampleModels.map(({ name, namespaced, unique }) => ({ name, namespaced, unique })),
    incarnations: await recorder.incarnations(),
    modelChanges,
    operations: workload.operationLog.operations,
    watchers: workload.watchers.map(({ record }) => record),
    log: recorder.rows,
    compactions: recorder.compactions,
    finalStates: [...(await recorder.finalStates()), ...lists],
    faults,
  };
}

async function heardOfEverything({ database, workload: { watchers }, problems }: RecordedRun): Promise<void> {
  try {
    const [row] = await database.query<{ newest: string }>('SELECT max(rev) AS newest FROM platform.change_log');
    const newest = Number(row?.newest);
    await retryUntilTrue(() => watchers.every(({ position, isOpen }) => position >= newest && isOpen), {
      what: `every watcher has heard of revision ${newest}`,
      timeoutMs: settleMs,
    });
  } catch (error) {
    const where = watchers
      .map(({ record, position, isOpen }) => `${record.id} at ${position}${isOpen ? '' : ', closed'}`)
      .join('; ');
    problems.push(`${describeError(error)}: ${where}`);
  }
}

async function finalLists({ workload, replicas, problems }: RecordedRun): Promise<History['finalStates']> {
  const states: History['finalStates'] = [];
  for (const replica of replicas) {
    for (const model of sampleModels) {
      const { operation } = await readList(workload.operator, {
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
