import type { JsonObject, JsonSchema } from '../../../../pkg/apimachinery/index.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { modelKind, makeSomeAtomic, newModelDefinition, randomStruct } from '../generate/random-schema.ts';
import { randomStep, type StepOptions } from '../generate/random-step.ts';
import type { StepClient } from '../client/step-client.ts';
import type { Trace, TraceStep } from './trace.ts';

export interface RecordOptions {
  client: StepClient;
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
      new TraceRecorder(client, trace, random.fork(`object ${index}`), {
        kind: modelKind(name),
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
    await client.define(second, 2);
    for (const trace of traces) trace.steps.push({ definition: second });
    await Promise.all(recorders.map((recorder) => recorder.run(Math.ceil(steps / 2), changed)));
  }
  await client.remove(first);
  return traces;
}

class TraceRecorder {
  readonly #client: StepClient;
  readonly #trace: Trace;
  readonly #random: SeededRandom;
  readonly #options: Omit<StepOptions, 'name' | 'versions'>;
  #live: JsonObject | undefined;

  constructor(client: StepClient, trace: Trace, random: SeededRandom, options: Omit<StepOptions, 'name' | 'versions'>) {
    this.#client = client;
    this.#trace = trace;
    this.#random = random;
    this.#options = options;
  }

  async run(steps: number, versions: Readonly<Record<string, JsonSchema>>): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      const { name, definition } = this.#trace;
      const request = randomStep(this.#random, this.#live, { ...this.#options, name, versions });
      const { status, body } = await this.#client.step(request, definition, name);
      this.#trace.steps.push({ request, status, answer: body });
      if (status < 300 && !request.dryRun) this.#live = body;
    }
  }
}
