import type { JsonObject, JsonSchema } from '../../../../pkg/apimachinery/index.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import {
  makeSomeAtomic,
  modelKind,
  newModelDefinition,
  randomStruct,
  withReplicas,
} from '../generate/random-schema.ts';
import { randomStep, type StepOptions } from '../generate/random-step.ts';
import type { StepClient } from '../client/step-client.ts';
import { nameOf } from './answer-fields.ts';
import { objectAfter, type Trace, type TraceStep } from './trace.ts';
import { pauseUntilNextSecond } from './write-times.ts';

export interface RecordOptions {
  client: StepClient;
  /** Decides everything. */
  random: SeededRandom;
  seed: string;
  /** The number of the model; each has a name of its own. */
  model: number;
  objects: number;
  steps: number;
  /** Each step of an object is in a later second than the one before. */
  isPaced: boolean;
}

/** Makes one random model on the peer, and random requests to its objects; each object is a trace. */
export async function recordTraces(options: RecordOptions): Promise<Trace[]> {
  const { client, random, seed, model, objects, steps, isPaced } = options;
  const hasScale = random.chance(0.4);
  const plain = randomStruct(random, 0);
  const versions: Record<string, JsonSchema> = { v1: hasScale ? withReplicas(random, plain) : plain };
  if (random.chance(0.3))
    versions['v2'] = random.chance(0.5) ? versions['v1']! : makeSomeAtomic(random, versions['v1']!);
  const hasStatus = random.chance(0.7);
  const name = `model${model}`;
  const common = { name, hasStatus, hasScale };
  const first = newModelDefinition({ ...common, versions, epoch: 1 });
  await client.define(first, 1);
  const traces = Array.from({ length: objects }, (_, index) => ({
    title: `seed ${seed}, model ${model}, object ${index}`,
    name: `o${index}`,
    definition: first,
    steps: [] as TraceStep[],
  }));
  const recorders = traces.map(
    (trace, index) =>
      new TraceRecorder({
        client,
        trace,
        random: random.fork(`object ${index}`),
        steps: {
          kind: modelKind(name),
          hasStatus,
          hasScale,
          ...random.pick([fewUpdaters, fewUpdaters, manyUpdaters]),
          appliers: random.between(1, 5),
        },
        isPaced,
      }),
  );
  await Promise.all(recorders.map((recorder) => recorder.run(steps, versions)));
  if (random.chance(0.4)) {
    const changed = Object.fromEntries(
      Object.entries(versions).map(([version, schema]) => [version, makeSomeAtomic(random.fork('atomic'), schema)]),
    );
    const second = newModelDefinition({ ...common, versions: changed, epoch: 2 });
    await client.define(second, 2);
    for (const trace of traces) trace.steps.push({ definition: second });
    await Promise.all(recorders.map((recorder) => recorder.run(Math.ceil(steps / 2), changed)));
  }
  await client.remove(first);
  return traces;
}

const fewUpdaters = { updaters: 3, applies: 0.6 };
/** So many that the oldest become `ancient-changes`. */
const manyUpdaters = { updaters: 40, applies: 0.1 };

interface TraceRecorderOptions {
  client: StepClient;
  trace: Trace;
  random: SeededRandom;
  steps: Omit<StepOptions, 'name' | 'versions'>;
  isPaced: boolean;
}

class TraceRecorder {
  readonly #options: TraceRecorderOptions;
  #name: string;
  #live: JsonObject | undefined;

  constructor(options: TraceRecorderOptions) {
    this.#options = options;
    this.#name = options.trace.name;
  }

  async run(steps: number, versions: Readonly<Record<string, JsonSchema>>): Promise<void> {
    const { client, trace, random, steps: common, isPaced } = this.#options;
    const count = common.updaters === manyUpdaters.updaters ? 2 * steps : steps;
    for (let step = 0; step < count; step += 1) {
      if (isPaced) await pauseUntilNextSecond();
      const request = randomStep(random, this.#live, { ...common, name: this.#name, versions });
      const answer = await client.step(request, trace.definition, this.#name);
      trace.steps.push({ request, ...answer });
      this.#live = objectAfter(this.#live, request, answer);
      if (this.#live !== undefined) this.#name = nameOf(this.#live);
    }
  }
}
