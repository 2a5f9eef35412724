import { randomUUID } from 'node:crypto';
import {
  isStatusError,
  pause,
  type AnyObject,
  type Client,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import type { ControllerDefinition, Log } from '#pkg/runtime/index';
import { FaultyClient, type FaultRates } from './faulty-client.ts';
import { CrashingControllerRunner } from './crashing-controller-runner.ts';
import { assertIdempotentRestart } from './assert-idempotent-restart.ts';
import { SeededRandom } from './seeded-random.ts';
import { pollUntil } from './poll-until.ts';

/** Every kind of fault, so frequent that each run sees most of them. */
export const commonFaults: FaultRates = {
  unavailable: 0.05,
  tooManyRequests: 0.02,
  lostAnswer: 0.05,
  lateAnswer: 0.1,
  conflict: 0.1,
  fieldConflict: 0.1,
  droppedWatch: 0.03,
  expired: 0.1,
  delayedEvent: 0.2,
  crash: 0.03,
};

/** The parameter of `act` and `expect`. */
export interface FaultyWorld {
  /** A client without faults, as the administrator. */
  client: Client;
  /** Derived from the seed. */
  random: SeededRandom;
  /** Gives the controllers time: some turns of the event loop, or some milliseconds. */
  pause: () => Promise<void>;
  /** Adds a line to the history in a failure's message. */
  note: (what: string) => void;
}

export interface FaultyRunOptions {
  /** A client without faults; the models must be registered. */
  client: Client;
  /**
   * Its controllers run; a PluginDefinition fits. Objects of its models belong to this run: all are deleted at its end.
   */
  plugin: { readonly models: readonly ResourceType[]; readonly controllers: readonly ControllerDefinition[] };
  /** Decides the faults and the users' actions. */
  seed: number;
  /** The users' actions meanwhile: creates, changes and deletes objects, by `random`. An error fails the run. */
  act: (world: FaultyWorld) => Promise<void>;
  /** Must throw until the expected state is reached. */
  expect: (world: FaultyWorld) => Promise<void>;
  /** Default `commonFaults`. */
  rates?: FaultRates;
  /** Limit from the end of the faults until `expect` passes. Milliseconds, default 20 000. */
  timeoutMs?: number;
  /** The controllers' log. Default silent. */
  log?: Log;
}

/** A failed run; the message has the seed and the history. */
export class FaultyRunError extends Error {
  override readonly name = 'FaultyRunError';
  readonly seed: number;

  constructor(seed: number, history: readonly string[], cause: unknown) {
    const told = history.slice(-maxHistory);
    super(
      `seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}\nbefore that:\n${told.map((line) => `  ${line}`).join('\n')}`,
      { cause },
    );
    this.seed = seed;
  }
}

const maxHistory = 80;
const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * Runs a plugin's controllers in this process with user actions and faults, by a seed. Then the faults stop, and
 * `expect` must pass; the controllers, restarted once more, must then change nothing.
 * @throws FaultyRunError with the seed, which repeats the run
 */
export async function runControllersUnderFaults({
  client,
  plugin,
  seed,
  act,
  expect,
  rates = commonFaults,
  timeoutMs = 20_000,
  log = silent,
}: FaultyRunOptions): Promise<void> {
  const { models, controllers } = plugin;
  const history: string[] = [];
  const note = (what: string): void => void history.push(what);
  const faulty = new FaultyClient({ client, seed, rates, onFault: note });
  const world = newWorld(client, seed, note);
  const running = new CrashingControllerRunner({
    name: `run-${randomUUID()}`,
    client: faulty,
    controllers,
    log,
    onRestart: note,
  });
  try {
    await act(world);
    faulty.heal();
    note('the faults are over');
    await untilExpected(() => expect(world), running, timeoutMs);
    await running.stop();
    await assertIdempotentRestart({ client, controllers, models, log, timeoutMs });
  } catch (error) {
    throw new FaultyRunError(seed, history, error);
  } finally {
    await running.stop();
    await Promise.all(models.map((model) => removeAll(client, model)));
  }
}

function newWorld(client: Client, seed: number, note: (what: string) => void): FaultyWorld {
  const random = new SeededRandom(seed);
  const linger = async (): Promise<void> => {
    if (random.chance(0.3)) await pause(random.below(15));
    else
      for (let turns = random.below(30); turns > 0; turns -= 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return { client, random, pause: linger, note };
}

/** Also waits until the controllers are at rest: a running reconcile may still write an earlier result. */
async function untilExpected(
  expect: () => Promise<void>,
  running: CrashingControllerRunner,
  timeoutMs: number,
): Promise<void> {
  let last: unknown;
  const holds = async (): Promise<boolean> => {
    const { work } = running;
    const { added } = work;
    try {
      await expect();
    } catch (error) {
      last = error;
      return false;
    }
    last = new Error('the controllers do not come to rest');
    return work.isResting && work === running.work && work.added === added;
  };
  await pollUntil(holds, timeoutMs, 'things to be as they must become').catch((error: Error) => {
    throw new Error(`${error.message}: ${last instanceof Error ? last.message : String(last)}`, { cause: last });
  });
}

/** Removes all finalizers too, because the controllers no longer run. */
async function removeAll(client: Client, model: ResourceType): Promise<void> {
  const { items } = await client.list(model);
  await Promise.all(items.map((object) => remove(client, model, object).catch(ignoreGone)));
}

async function remove(
  client: Client,
  model: ResourceType,
  { metadata: { namespace = '', name, finalizers = [] } }: Stored<AnyObject>,
): Promise<void> {
  if (finalizers.length > 0)
    await client.patch(model, { namespace, name }, { type: 'merge', patch: { metadata: { finalizers: null } } });
  await client.delete(model, { namespace, name });
}

function ignoreGone(error: unknown): void {
  if (!isStatusError(error, 'NotFound')) throw error;
}
