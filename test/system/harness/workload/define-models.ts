import type { ModelChangeRecord } from '../history/history.ts';
import type { ApiAnswer } from '../client/api-client.ts';
import type { RecordingClient, Target } from './recording-client.ts';
import { now } from '../history/instant.ts';
import { definitionOf, definitionsPath, pathOf, type SampleModel } from './sample-models.ts';
import { retryUntilTrue } from '../retry-until-true.ts';

const timeoutMs = 60_000;

/** The servers of a model, and the client that defines it. */
export interface ModelTargets {
  operator: RecordingClient;
  modelChanges: ModelChangeRecord[];
  replicas: readonly Target[];
}

/** Creates a model; resolves when both servers serve it. */
export async function makeModel(targets: ModelTargets, model: SampleModel): Promise<void> {
  const record = begin(targets, { type: 'make', model: model.name, requested: now() });
  await retryUntilTrue(async () => [201, 409].includes((await send(targets, 'POST', '', definitionOf(model))).status), {
    what: `${model.name} is made`,
    timeoutMs,
  });
  await served(targets, model, '', 200);
  record.completed = now();
}

/** Deletes the definition, with all objects; resolves when it is gone. */
export async function dropModel(targets: ModelTargets, model: SampleModel): Promise<void> {
  const record = begin(targets, { type: 'drop', model: model.name, requested: now() });
  await retryUntilTrue(async () => [200, 404].includes((await send(targets, 'DELETE', `/${model.name}`)).status), {
    what: `${model.name} is dropped`,
    timeoutMs,
  });
  await retryUntilTrue(async () => (await send(targets, 'GET', `/${model.name}`)).status === 404, {
    what: `${model.name} is gone`,
    timeoutMs,
  });
  record.completed = now();
}

/** Declares the model with or without its optional index; resolves when lists by it succeed or are refused. */
export async function declareIndex(targets: ModelTargets, model: SampleModel, withOptional: boolean): Promise<void> {
  const index = `spec.${model.optionalIndex?.field ?? ''}`;
  const record = begin(targets, { type: 'index', model: model.name, index, requested: now() });
  await retryUntilTrue(
    async () => (await send(targets, 'PUT', `/${model.name}`, definitionOf(model, { withOptional }))).status === 200,
    { what: `the definition of ${model.name} is changed`, timeoutMs },
  );
  await served(targets, model, `&fieldSelector=${index}`, withOptional ? 200 : 400);
  record.completed = now();
}

/** Recorded immediately: an incomplete change has effects too. */
function begin({ modelChanges }: ModelTargets, record: ModelChangeRecord): ModelChangeRecord {
  modelChanges.push(record);
  return record;
}

/** Waits until both servers return this status for a list. */
async function served(
  { operator, replicas }: ModelTargets,
  model: SampleModel,
  more: string,
  status: number,
): Promise<void> {
  for (const { name, port } of replicas) {
    await retryUntilTrue(
      async () => (await operator.api.request({ port, path: `${pathOf(model)}?limit=1${more}` })).status === status,
      { what: `${name} answers ${status} for ${model.plural}${more}`, timeoutMs },
    );
  }
}

/** Uses any server; the caller repeats a request without a response. */
function send({ operator }: ModelTargets, method: string, path: string, body?: object): Promise<ApiAnswer> {
  const { port } = operator.anyTarget();
  return operator.api.request({
    port,
    method,
    path: definitionsPath + path,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
