import { setTimeout as delay } from 'node:timers/promises';
import { HttpConnection } from './http-connection.ts';
import { requestSource, resourceVersionIn } from './request-plan.ts';
import { quantile } from './sample.ts';
import type { SampleModel } from './sample-post.ts';
import { WatchConnection } from './watch-connection.ts';
import { serveJobs } from './worker.ts';

/** Jobs on one set of watchers, in the order open, pace or count, close. */
export type WatchJob =
  | { type: 'open'; port: number; authorization: string; path: string; watchers: number }
  /** Updates one object at a steady rate, from this very process, whose clock then times both ends. */
  | { type: 'pace'; port: number; authorization: string; model: SampleModel; object: string; writesPerSecond: number; seconds: number }
  /** Waits until every watcher has heard of a revision, and tells what was delivered since `open`. */
  | { type: 'count'; untilRevision: number; timeoutSeconds: number }
  | { type: 'close' };

export interface WatchResult {
  events: number;
  /** What every watcher should have got, in sum; of `pace` only. */
  expected: number;
  /** From the first event to the last. */
  seconds: number;
  /** Watchers that heard everything: up to the last, and as much as any other. */
  complete: number;
  /** From the acknowledgement of a write to its event; negative where the event came first. Milliseconds, of `pace` only. */
  p50: number;
  p99: number;
}

const nothing: WatchResult = { events: 0, expected: 0, seconds: 0, complete: 0, p50: 0, p99: 0 };
let watchers: WatchConnection[] = [];

async function work(job: WatchJob): Promise<WatchResult> {
  if (job.type === 'open') {
    watchers = await Promise.all(Array.from({ length: job.watchers }, () => WatchConnection.open(job)));
    return nothing;
  }
  if (job.type === 'pace') return pace(job);
  if (job.type === 'count') return count(job);
  for (const watcher of watchers) watcher.close();
  return nothing;
}

async function pace(job: WatchJob & { type: 'pace' }): Promise<WatchResult> {
  const source = requestSource({ type: 'update', model: job.model, objects: [job.object] }, job.authorization);
  const connection = await HttpConnection.open(job.port);
  const acknowledged = new Map<string, number>();
  const delivered: { revision: string; at: number }[] = [];
  for (const watcher of watchers) watcher.onEvent = (line) => void delivered.push({ revision: resourceVersionIn(line), at: performance.now() });
  source.answered?.(0, await connection.request(source.prepare!(0)));
  const begin = performance.now();
  const writes = Math.round(job.seconds * job.writesPerSecond);
  for (let i = 0; i < writes; i += 1) {
    await delay(Math.max(0, begin + (i * 1000) / job.writesPerSecond - performance.now()));
    const answer = await connection.request(source.next(0));
    if (answer.status !== 200) throw new Error(`an update failed: ${answer.body.toString()}`);
    acknowledged.set(resourceVersionIn(answer.body), performance.now());
    source.answered?.(0, answer);
  }
  connection.close();
  const expected = writes * watchers.length;
  for (const deadline = performance.now() + 10_000; delivered.length < expected && performance.now() < deadline; ) await delay(10);
  const delays = Float64Array.from(delivered, ({ revision, at }) => at - (acknowledged.get(revision) ?? at)).toSorted();
  return { ...nothing, events: delivered.length, expected, seconds: (performance.now() - begin) / 1000, p50: quantile(delays, 0.5), p99: quantile(delays, 0.99) };
}

async function count({ untilRevision, timeoutSeconds }: WatchJob & { type: 'count' }): Promise<WatchResult> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  const isComplete = (watcher: WatchConnection): boolean => watcher.lastRevision >= untilRevision;
  while (!watchers.every((watcher) => watcher.isClosed || isComplete(watcher)) && performance.now() < deadline) await delay(10);
  const first = Math.min(...watchers.map(({ firstEventAt }) => firstEventAt));
  const last = Math.max(...watchers.map(({ lastEventAt }) => lastEventAt));
  const events = watchers.reduce((sum, watcher) => sum + watcher.events, 0);
  const most = Math.max(...watchers.map((watcher) => watcher.events));
  const complete = watchers.filter((watcher) => isComplete(watcher) && watcher.events === most).length;
  return { ...nothing, events, seconds: (last - first) / 1000, complete };
}

serveJobs(work);
