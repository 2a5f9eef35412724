import type { Client } from '#pkg/apimachinery/index';
import { controllerFor, type ControllerDefinition } from '#pkg/runtime/index';
import { fillSheets, Sheet, until, whileRunning } from './controller-run.ts';

export interface RestartFigures {
  objects: number;
  withoutPosition: Restart;
  withPosition: Restart;
}

interface Restart {
  /** From the start of the manager until it has reconciled a write from just before, and its queue is empty. */
  milliseconds: number;
  reconciles: number;
}

/** How long a controller takes to work again after a restart, with and without a stored position. */
export async function measureRestarts(client: Client, objects: number): Promise<RestartFigures> {
  await fillSheets(client, objects);
  return {
    objects,
    withoutPosition: await restart(client, objects, false),
    withPosition: await restart(client, objects, true),
  };
}

async function restart(client: Client, objects: number, isResumed: boolean): Promise<Restart> {
  const first = watched(isResumed);
  await whileRunning(client, [first.definition], () => until(() => first.reconcileCount() >= objects));
  const { metadata } = await client.patch(
    Sheet,
    { namespace: '', name: 'sheet-0' },
    { type: 'merge', patch: { spec: { sentAt: performance.now() } } },
  );
  const second = watched(isResumed);
  const began = performance.now();
  return whileRunning(client, [second.definition], async () => {
    await until(() => second.hasSeen(metadata.resourceVersion) && (isResumed || second.reconcileCount() >= objects));
    return { milliseconds: performance.now() - began, reconciles: second.reconcileCount() };
  });
}

function watched(isResumed: boolean): {
  definition: ControllerDefinition;
  reconcileCount: () => number;
  hasSeen: (resourceVersion: string) => boolean;
} {
  let reconcileCount = 0;
  const seen = new Set<string>();
  const definition = controllerFor(Sheet)
    .named(isResumed ? 'resumed' : 'anew')
    .withTuning({ concurrency: 32, ...(isResumed ? { resume: {} } : {}) })
    .reconcile(async ({ name }, { lister }) => {
      reconcileCount += 1;
      if (name === 'sheet-0') seen.add(lister(Sheet).get({ namespace: '', name })?.metadata.resourceVersion ?? '');
    });
  return { definition, reconcileCount: () => reconcileCount, hasSeen: (resourceVersion) => seen.has(resourceVersion) };
}
