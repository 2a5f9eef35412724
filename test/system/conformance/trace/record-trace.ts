import type { JsonObject, JsonSchema } from '../../../../pkg/apimachinery/index.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import {
  conformanceGroup,
  modelKind,
  makeSomeAtomic,
  newModelDefinition,
  randomStruct,
} from '../generate/random-schema.ts';
import { randomStep, type StepOptions } from '../generate/random-step.ts';
import type { PeerClient } from '../peer/peer-client.ts';
import type { Trace, TraceStep } from './trace.ts';

export interface RecordOptions {
  client: PeerClient;
  /** Decides everything. */
  random: SeededRandom;
  seed: string;
  /** The number of the model; each has a name of its own. */
  model: number;
  objects: number;
  steps: number;
}

/** Makes one random model on the peer, and random requests to its objects; each object is a trace. */
export async function recordTraces(options: RecordOptions): Promise<Trace[]> {
  const { client, random, seed, model, objects, steps } = options;
  const versions: Record<string, JsonSchema> = { v1: randomStruct(random, 0) };
  if (random.chance(0.3))
    versions['v2'] = random.chance(0.5) ? versions['v1']! : makeSomeAtomic(random, versions['v1']!);
  const hasStatus = random.chance(0.7);
  const name = `model${model}`;
  const common = { name, hasStatus };
  const collection = `/apis/${conformanceGroup}/{version}/namespaces/n/${name}s`;
  const first = newModelDefinition({ ...common, versions, epoch: 1 });
  await client.define(first, collection, 1);
  const traces = Array.from({ length: objects }, (_, index) => ({
    title: `seed ${seed}, model ${model}, object ${index}`,
    definition: first,
    steps: [] as TraceStep[],
  }));
  const recorders = traces.map(
    (trace, index) =>
      new TraceRecorder(client, trace, random.fork(`object ${index}`), collection, {
        kind: modelKind(name),
        name: `o${index}`,
        hasStatus,
        updaters: random.pick([3, 3, 14]),
        appliers: random.between(1, 5),
      }),
  );
  await Promise.all(recorders.map((recorder) => recorder.run(steps, versions)));
  if (random.chance(0.4)) {
    const changed = Object.fromEntries(
      Object.entries(versions).map(([version, schema]) => [version, makeSomeAtomic(random.fork('atomic'), schema)]),
    );
    const second = newModelDefinition({ ...common, versions: changed, epoch: 2 });
    await client.define(second, collection, 2);
    for (const trace of traces) trace.steps.push({ definition: second });
    await Promise.all(recorders.map((recorder) => recorder.run(Math.ceil(steps / 2), changed)));
  }
  await client.send('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}s.${conformanceGroup}`);
  return traces;
}

class TraceRecorder {
  readonly #client: PeerClient;
  readonly #trace: Trace;
  readonly #random: SeededRandom;
  readonly #collection: string;
  readonly #options: Omit<StepOptions, 'versions'>;
  #live: JsonObject | undefined;

  constructor(
    client: PeerClient,
    trace: Trace,
    random: SeededRandom,
    collection: string,
    options: Omit<StepOptions, 'versions'>,
  ) {
    this.#client = client;
    this.#trace = trace;
    this.#random = random;
    this.#collection = collection;
    this.#options = options;
  }

  async run(steps: number, versions: Readonly<Record<string, JsonSchema>>): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      const request = randomStep(this.#random, this.#live, { ...this.#options, versions });
      const { status, body } = await this.#client.step(request, this.#collection, this.#options.name);
      this.#trace.steps.push({ request, status, answer: body });
      if (status < 300 && !request.dryRun) this.#live = body;
    }
  }
}
