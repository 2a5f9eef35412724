import type { Client, ResourceType } from '#pkg/apimachinery/index';
import { Manager, type ControllerDefinition, type Log } from '#pkg/runtime/index';
import { pollUntil } from './poll-until.ts';
import { WorkCount } from './work-count.ts';

export interface IdempotentRestartOptions {
  client: Client;
  controllers: readonly ControllerDefinition[];
  models: readonly ResourceType[];
  log: Log;
  /** Milliseconds. */
  timeoutMs: number;
}

/**
 * Starts the controllers again after all objects have settled, and asserts that they change nothing.
 * @throws Error that names the objects they changed
 */
export async function assertIdempotentRestart({
  client,
  controllers,
  models,
  log,
  timeoutMs,
}: IdempotentRestartOptions): Promise<void> {
  const before = await revisionsOf(client, models);
  const watched = new CountedWatches(client);
  const work = new WorkCount();
  const manager = new Manager({ client: watched.client, log, controllers, observerFor: () => work.observer });
  const caches = new Set(
    controllers.flatMap(({ watches }) =>
      watches.map(({ type: { group, version, plural }, selection }) =>
        JSON.stringify([group, version, plural, selection]),
      ),
    ),
  ).size;
  manager.start();
  try {
    // A cache enqueues everything that it listed before it begins to watch.
    await pollUntil(
      async () => watched.begun >= caches && work.isResting,
      timeoutMs,
      'the controllers, started again, to come to rest',
    );
  } finally {
    await manager.stop();
  }
  const after = await revisionsOf(client, models);
  const changed = [...after].filter(([object, revision]) => before.get(object) !== revision).map(([object]) => object);
  const gone = [...before.keys()].filter((object) => !after.has(object));
  if (changed.length + gone.length > 0)
    throw new Error(`started again on a settled world, the controllers changed ${[...changed, ...gone].join(', ')}`);
}

async function revisionsOf(client: Client, models: readonly ResourceType[]): Promise<Map<string, string>> {
  const lists = await Promise.all(models.map((model) => client.list(model)));
  return new Map(
    lists.flatMap(({ items }, i) =>
      items.map(
        ({ metadata: { namespace = '', name, resourceVersion } }) =>
          [`${models[i]!.plural} ${namespace}/${name}`, resourceVersion] as const,
      ),
    ),
  );
}

/** Counts started watches. */
class CountedWatches {
  begun = 0;
  readonly client: Client;

  constructor(client: Client) {
    this.client = {
      get: (...call) => client.get(...call),
      list: (...call) => client.list(...call),
      create: (...call) => client.create(...call),
      update: (...call) => client.update(...call),
      updateStatus: (...call) => client.updateStatus(...call),
      patch: (...call) => client.patch(...call),
      patchStatus: (...call) => client.patchStatus(...call),
      apply: (...call) => client.apply(...call),
      applyStatus: (...call) => client.applyStatus(...call),
      delete: (...call) => client.delete(...call),
      watch: async (...call) => {
        const stream = await client.watch(...call);
        this.begun += 1;
        return stream;
      },
    };
  }
}
