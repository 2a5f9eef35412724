import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { newNotFound, newServiceUnavailable, type AnyObject, type Client } from '#pkg/apimachinery/index';
import { Informer } from '../cache/informer.ts';
import { ScriptedApi, scriptedObject, scriptedType } from '../cache/scripted-api.ts';
import { Controller } from '../controller/controller.ts';
import type { WatchDefinition } from '../definition/controller-definition.ts';
import { enqueueObject } from '../handler/event-handler.ts';
import type { Log } from '../log.ts';
import { formatRequest, type ReconcileResult } from '../reconcile/reconciler.ts';
import { ChannelSource } from '../source/source.ts';
import { PositionStore, resumePositionAnnotation } from './position-store.ts';
import {
  formatPosition,
  maxOpenRequests,
  parsePosition,
  resumeSignature,
  versionDigest,
  type ResumePosition,
} from './resume-position.ts';
import { Resume } from './resume.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const unasked = (): Promise<never> => Promise.reject(new Error('not asked'));

function resumeOn(
  client: Partial<Pick<Client, 'get' | 'patch'>>,
  watched: { watches: readonly WatchDefinition[]; informers: readonly Informer<AnyObject>[] } = {
    watches: [],
    informers: [],
  },
): Resume {
  const whole = { get: unasked, create: unasked, patch: unasked, ...client } as unknown as Client;
  const store = new PositionStore({ client: whole, namespace: 'svc-system', manager: 'm', controller: 'c' });
  return new Resume({ ...watched, client: whole, store, options: { intervalMs: 10 }, controller: 'c', log: silent });
}

afterEach(() => void jest.useRealTimers());

test('writes of the position do not queue up behind a slow one', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'performance', 'queueMicrotask'] });
  let release = (): void => undefined;
  const isFree = new Promise<void>((resolve) => (release = resolve));
  let writes = 0;
  const patch = async (): Promise<never> => {
    writes += 1;
    // Each write finds a new position.
    resume.ledger.ask(`/${writes}`);
    await isFree;
    return undefined as never;
  };
  const resume = resumeOn({ patch });
  resume.begin();
  jest.advanceTimersByTime(200);
  release();
  await resume.end();
  expect(writes).toBe(2);
});

test('a stop does not wait for a position that cannot be read', async () => {
  let given: AbortSignal | undefined;
  const get = (_type: unknown, _key: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<never> => {
    given = signal;
    return new Promise((_resolve, reject) =>
      signal?.addEventListener('abort', () => reject(newServiceUnavailable('given up'))),
    );
  };
  const stopping = new AbortController();
  const resume = resumeOn({ get });
  const started = resume.sources[0]!.start(() => undefined, stopping.signal);
  stopping.abort();
  expect(given?.aborted).toBe(true);
  expect(await started).toBe(false);
});

/** The Lease that holds a position. */
class KeptPosition {
  position: ResumePosition | undefined;

  constructor(position?: ResumePosition) {
    this.position = position;
  }

  get client(): Pick<Client, 'get' | 'patch'> {
    const get = (): Promise<unknown> =>
      this.position === undefined
        ? Promise.reject(newNotFound({ group: '', resource: 'leases' }, 'l'))
        : Promise.resolve({ metadata: { annotations: { [resumePositionAnnotation]: formatPosition(this.position) } } });
    const patch = (
      _type: unknown,
      _key: unknown,
      { patch: { metadata } }: { patch: { metadata: { annotations: Record<string, string> } } },
    ): Promise<unknown> => {
      this.position = parsePosition(metadata.annotations[resumePositionAnnotation]!);
      return Promise.resolve(undefined);
    };
    return { get, patch } as unknown as Pick<Client, 'get' | 'patch'>;
  }
}

/** The requests at the start of a term, with their delays in milliseconds. */
async function askedBy(resume: Resume): Promise<Record<string, number>> {
  const asked: Record<string, number> = {};
  await resume.sources
    .at(-1)!
    .start(
      (request, { afterMs = 0 } = {}) => void (asked[formatRequest(request)] = afterMs),
      new AbortController().signal,
    );
  return asked;
}

/** Runs one term of a controller that reconciles one object, then stops it. */
async function turnWith(result: ReconcileResult, kept: KeptPosition): Promise<void> {
  const channel = new ChannelSource();
  let end = (): void => undefined;
  const isOver = new Promise<void>((resolve) => (end = resolve));
  const observer = {
    depth: () => {},
    added: () => {},
    taken: () => {},
    done: () => {},
    retried: () => {},
    reconciled: () => end(),
  };
  const controller = new Controller({
    name: 'c',
    sources: [channel],
    resume: resumeOn(kept.client),
    log: silent,
    reconciler: { reconcile: () => Promise.resolve(result) },
    observer,
  });
  await controller.start();
  channel.push({ namespace: '', name: 'a' });
  await isOver;
  await controller.stop();
}

describe('a request with a delay', () => {
  test('is stored with its time, and the next term waits for the rest of it', async () => {
    const kept = new KeptPosition();
    const before = Date.now();
    await turnWith({ requeueAfterMs: 600_000 }, kept);
    const due = kept.position!.open.get('/a')!;
    expect(due).toBeGreaterThanOrEqual(before + 600_000);
    expect(due).toBeLessThanOrEqual(Date.now() + 600_001);
    const { '/a': afterMs } = await askedBy(resumeOn(kept.client));
    expect(afterMs).toBeGreaterThan(0);
    expect(afterMs).toBeLessThanOrEqual(600_001);
  });

  test('may never be due: the position can be read nevertheless', async () => {
    const kept = new KeptPosition();
    await turnWith({ requeueAfterMs: Infinity }, kept);
    expect(kept.position?.open).toEqual(new Map([['/a', Number.MAX_SAFE_INTEGER]]));
  });

  test('is due at once if its time has passed', async () => {
    const kept = new KeptPosition({ signature: resumeSignature([]), revisions: [], open: new Map([['/a', 1]]) });
    expect((await askedBy(resumeOn(kept.client)))['/a']).toBeLessThan(0);
  });
});

test('a position of other watches is ignored', async () => {
  const kept = new KeptPosition({ signature: 'another', revisions: [], open: new Map([['/a', 0]]) });
  expect(await askedBy(resumeOn(kept.client))).toEqual({});
});

describe('with more requests than a position can name', () => {
  const names = Array.from({ length: maxOpenRequests + 1 }, (_, i) => `n-${i}`);
  const watch: WatchDefinition = { type: scriptedType, selection: {}, handler: enqueueObject, predicates: [] };
  const stored = { signature: resumeSignature([watch]), version: versionDigest(''), open: new Map<string, number>() };
  let informer: Informer<AnyObject>;

  afterEach(() => informer.stop());

  /** What a term stores that started at `from`, if change `since` enqueued all objects; 0 for none. */
  async function storedWith(since: bigint, from?: bigint): Promise<ResumePosition> {
    const list = { resourceVersion: '900', items: names.map((name, i) => scriptedObject(name, i + 100)) };
    informer = new Informer({
      client: new ScriptedApi({ lists: [list], watches: [{ end: 'open' }] }).client,
      type: scriptedType,
      log: silent,
    });
    const kept = new KeptPosition(from === undefined ? undefined : { ...stored, revisions: [from] });
    const resume = resumeOn(kept.client, { watches: [watch], informers: [informer] });
    informer.start();
    const { signal } = new AbortController();
    await Promise.all(resume.sources.map((source) => source.start(() => undefined, signal)));
    for (const name of names) resume.ledger.ask(`/${name}`, since);
    for (const source of resume.sources) await source.stop();
    await resume.end();
    return kept.position!;
  }

  test('the position stays before the oldest unhandled change', async () => {
    expect(await storedWith(700n)).toMatchObject({ revisions: [699n], version: stored.version });
  });

  test('the position does not go back behind the start of the term', async () => {
    expect(await storedWith(850n, 900n)).toMatchObject({ revisions: [900n] });
  });

  test('the position has no version if only a reconcile of all objects would find them', async () => {
    const position = await storedWith(0n);
    expect(position.revisions).toEqual([900n]);
    expect(position).not.toHaveProperty('version');
  });
});
