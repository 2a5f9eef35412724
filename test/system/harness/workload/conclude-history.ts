import { describeError } from '../describe-error.ts';
import type { FaultRecord, History, ModelChangeRecord } from '../history/history.ts';
import type { Workload } from './workload.ts';
import { makeModel } from './define-models.ts';
import type { RecordedDatabase, ChangeLogRecorder } from './change-log-recorder.ts';
import { pollUntil } from '../poll-until.ts';
import type { Target } from './recording-client.ts';
import { readList } from './read-list.ts';
import { namespaces, namespacesPath, sampleModels } from './sample-models.ts';

/** A watcher hears by the end of its stream, if by nothing else, how far it is. */
const settleMs = 60_000;

/** A run whose clients are to be heard. */
export interface RecordedRun {
  seed: number;
  workload: Workload;
  recorder: ChangeLogRecorder;
  database: RecordedDatabase;
  /** Each is asked for its lists at the end. */
  replicas: readonly [Target, ...Target[]];
  modelChanges: ModelChangeRecord[];
  faults: FaultRecord[];
  /** What went wrong beside what the history shows. */
  problems: string[];
}

/** Makes the namespaces and models that the workload works with. */
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
 * Lets the workload come to an end: no change is made any more, everybody comes to know the last one, and what is there is
 * read once more.
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
    await pollUntil(() => watchers.every(({ position, isOpen }) => position >= newest && isOpen), {
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
