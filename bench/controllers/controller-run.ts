import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { AnyObject, Client } from '#pkg/apimachinery/index';
import { defineModel, registerModel, Type } from '#pkg/plugin/index';
import { controllerFor, Manager, type ControllerDefinition, type Log } from '#pkg/runtime/index';
import { quantile } from '../report/sample.ts';
import { inParallel } from './in-parallel.ts';

/**
 * The controllers' objects: `sentAt` is the start of the last write, by the clock of the process that writes and
 * reconciles.
 */
export const Sheet = defineModel({
  group: 'bench.svc.example',
  version: 'v1',
  kind: 'Sheet',
  plural: 'sheets',
  singular: 'sheet',
  spec: Type.Object({ round: Type.Integer(), sentAt: Type.Number() }),
  status: Type.Object({ round: Type.Integer() }),
});

export interface ControllerPlan {
  objects: number;
  /** Length of the phase with single writes, whose delay to the reconcile is measured. */
  paceSeconds: number;
  writesPerSecond: number;
  /** Controllers that start at the same time. */
  controllers: number;
}

export interface ControllerFigures {
  /** From the first of `objects` writes to the last resulting status. */
  reconcilesPerSecond: number;
  /** From the start of a write to the start of its reconcile. Milliseconds. */
  startDelay: { p50: number; p99: number };
  /** Heap bytes. */
  bytesPerCachedObject: number;
  /** From the start of `controllers`, each with a tenth of the objects, to the last first reconcile. */
  startAll: { milliseconds: number; reconciles: number };
}

const writers = 64;
const reconcilers = 32;
const lanes = 10;
const printWarning = (details: object, message: string): void =>
  void process.stderr.write(`${message} ${JSON.stringify(details)}\n`);
/** Warnings too: if a position could not be stored, a restart would seem slow. */
const log: Log = { debug: () => undefined, info: () => undefined, warn: printWarning, error: printWarning };

/** Fills the model and measures controllers on it through one client. */
export async function measureControllers(client: Client, plan: ControllerPlan): Promise<ControllerFigures> {
  await fillSheets(client, plan.objects);
  const bytesPerCachedObject = await measureCache(client, plan.objects);
  const loop = await measureLoop(client, plan);
  return { ...loop, bytesPerCachedObject, startAll: await measureStart(client, plan) };
}

export async function fillSheets(client: Client, objects: number): Promise<void> {
  await registerModel(client, Sheet);
  const { group, version, kind } = Sheet;
  const sheet = (i: number): object => ({
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: nameOf(i), labels: { lane: String(i % lanes) } },
    spec: { round: 0, sentAt: 0 },
  });
  await inParallel(writers, objects, (i) => client.create(Sheet, sheet(i) as never));
}

function nameOf(i: number): string {
  return `sheet-${i}`;
}

/** Runs controllers until `done` resolves. */
export async function whileRunning<Result>(
  client: Client,
  controllers: readonly ControllerDefinition[],
  done: () => Promise<Result>,
): Promise<Result> {
  const manager = new Manager({ client, log, controllers, name: 'bench' });
  manager.start();
  try {
    return await done();
  } finally {
    await manager.stop();
  }
}

export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await delay(2);
}

async function measureCache(client: Client, objects: number): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const seen = new Set<string>();
  const idle = controllerFor(Sheet)
    .withTuning({ concurrency: reconcilers })
    .reconcile(async ({ name }) => void seen.add(name));
  const heap = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heap();
  return whileRunning(client, [idle], async () => {
    await until(() => seen.size >= objects);
    seen.clear();
    return (heap() - before) / objects;
  });
}

async function measureLoop(
  client: Client,
  { objects, paceSeconds, writesPerSecond }: ControllerPlan,
): Promise<Pick<ControllerFigures, 'reconcilesPerSecond' | 'startDelay'>> {
  let settled = 0;
  const delays: number[] = [];
  const keeper = controllerFor(Sheet)
    .withTuning({ concurrency: reconcilers })
    .reconcile(async (key, { client: fenced, lister }) => {
      const startedAt = performance.now();
      const sheet = lister(Sheet).get(key);
      if (sheet === undefined || sheet.status?.round === sheet.spec.round) return;
      if (sheet.spec.sentAt > 0) delays.push(startedAt - sheet.spec.sentAt);
      await fenced.patchStatus(Sheet, key, { type: 'merge', patch: { status: { round: sheet.spec.round } } });
      settled += 1;
    });
  return whileRunning(client, [keeper], async () => {
    await until(() => settled >= objects);
    settled = 0;
    const began = performance.now();
    await inParallel(writers, objects, (i) => touch(client, i, { round: 1, sentAt: 0 }));
    await until(() => settled >= objects);
    const reconcilesPerSecond = objects / ((performance.now() - began) / 1000);
    const writes = Math.round(paceSeconds * writesPerSecond);
    await pace(client, { writes, writesPerSecond, objects });
    await until(() => delays.length >= writes);
    const sorted = Float64Array.from(delays).toSorted();
    return { reconcilesPerSecond, startDelay: { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) } };
  });
}

/** Writes at a steady rate, each to another object, without waiting for earlier writes. */
async function pace(
  client: Client,
  { writes, writesPerSecond, objects }: { writes: number; writesPerSecond: number; objects: number },
): Promise<void> {
  const began = performance.now();
  const underWay: Promise<AnyObject>[] = [];
  for (let i = 0; i < writes; i += 1) {
    await delay(Math.max(0, began + (i * 1000) / writesPerSecond - performance.now()));
    underWay.push(touch(client, i % objects, { round: 2 + Math.floor(i / objects), sentAt: performance.now() }));
  }
  await Promise.all(underWay);
}

function touch(client: Client, i: number, spec: { round: number; sentAt: number }): Promise<AnyObject> {
  return client.patch(Sheet, { namespace: '', name: nameOf(i) }, { type: 'merge', patch: { spec } });
}

async function measureStart(
  client: Client,
  { objects, controllers }: ControllerPlan,
): Promise<ControllerFigures['startAll']> {
  const reconcileCounts = Array.from({ length: controllers }, () => 0);
  const definitions = reconcileCounts.map((_, i) =>
    controllerFor(Sheet, { labelSelector: `lane=${i % lanes}` })
      .named(`lane-${i}`)
      .reconcile(async () => {
        reconcileCounts[i]! += 1;
      }),
  );
  const began = performance.now();
  return whileRunning(client, definitions, async () => {
    await until(() => reconcileCounts.every((count) => count >= objects / lanes));
    return {
      milliseconds: performance.now() - began,
      reconciles: reconcileCounts.reduce((sum, count) => sum + count, 0),
    };
  });
}
