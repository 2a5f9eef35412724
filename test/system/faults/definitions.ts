import type { Arena } from './arena.ts';
import type { ModelChangeRecord } from './history.ts';
import type { ApiAnswer } from './workload/api-client.ts';
import type { Target } from './workload/fault-client.ts';
import { now } from './workload/instant.ts';
import { definitionOf, definitionsPath, pathOf, type SampleModel } from './workload/sample-models.ts';
import { until } from './until.ts';

const patienceMs = 60_000;

type Ground = Pick<Arena, 'operator' | 'modelChanges'> & { replicas: readonly Target[] };

/** Makes a model; resolves when both servers serve it. */
export async function makeModel(ground: Ground, model: SampleModel): Promise<void> {
  const record = begin(ground, { type: 'make', model: model.name, requested: now() });
  await until(`${model.name} is made`, patienceMs, async () =>
    [201, 409].includes((await send(ground, 'POST', '', definitionOf(model))).status),
  );
  await served(ground, model, '', 200);
  record.completed = now();
}

/** Deletes the definition, with all objects; resolves when it is gone. */
export async function dropModel(ground: Ground, model: SampleModel): Promise<void> {
  const record = begin(ground, { type: 'drop', model: model.name, requested: now() });
  await until(`${model.name} is dropped`, patienceMs, async () =>
    [200, 404].includes((await send(ground, 'DELETE', `/${model.name}`)).status),
  );
  await until(
    `${model.name} is gone`,
    patienceMs,
    async () => (await send(ground, 'GET', `/${model.name}`)).status === 404,
  );
  record.completed = now();
}

/** Declares the model with its optional index or without; resolves when lists by it are answered, or refused. */
export async function declareIndex(ground: Ground, model: SampleModel, withOptional: boolean): Promise<void> {
  const index = `spec.${model.optionalIndex?.field ?? ''}`;
  const record = begin(ground, { type: 'index', model: model.name, index, requested: now() });
  await until(
    `the definition of ${model.name} is changed`,
    patienceMs,
    async () => (await send(ground, 'PUT', `/${model.name}`, definitionOf(model, { withOptional }))).status === 200,
  );
  await served(ground, model, `&fieldSelector=${index}`, withOptional ? 200 : 400);
  record.completed = now();
}

/** Recorded at once: a change that does not come to its end has its effects, too. */
function begin({ modelChanges }: Ground, record: ModelChangeRecord): ModelChangeRecord {
  modelChanges.push(record);
  return record;
}

/** Both servers answer a list with this status. */
async function served({ operator, replicas }: Ground, model: SampleModel, more: string, status: number): Promise<void> {
  for (const { name, port } of replicas) {
    await until(
      `${name} answers ${status} for ${model.plural}${more}`,
      patienceMs,
      async () => (await operator.api.request({ port, path: `${pathOf(model)}?limit=1${more}` })).status === status,
    );
  }
}

/** To any server; a request without an answer is made again by whoever waits. */
function send({ operator }: Ground, method: string, path: string, body?: object): Promise<ApiAnswer> {
  const { port } = operator.anyTarget();
  return operator.api.request({
    port,
    method,
    path: definitionsPath + path,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
