import { setTimeout as delay } from 'node:timers/promises';
import { HttpConnection } from './http-connection.ts';
import type { MeasuredProcesses } from '../../test/system/harness/process/process-usage.ts';
import { requestSource, resourceVersionIn } from './request-plan.ts';
import type { SampleModel } from '../sample-post.ts';
import { SampleRecorder, type Sample } from '../report/sample.ts';
import { WatchConnection } from './watch-connection.ts';
import { serveJobs } from '../../test/system/harness/process/worker-process.ts';

/** Jobs for one set of watchers, in the order open, pace or count, close. */
export type WatchJob =
  | { type: 'open'; port: number; authorization: string; path: string; watchers: number }
  | PaceJob
  /** Waits until every watcher has reached a revision, and returns what was delivered since `open`. */
  | { type: 'count'; untilRevision: number; timeoutSeconds: number }
  | { type: 'close' };

/** Updates one object at a steady rate from this process, so that one clock measures both ends. */
export interface PaceJob {
  type: 'pace';
  port: number;
  authorization: string;
  model: SampleModel;
  object: string;
  attachment?: number;
  writesPerSecond: number;
  seconds: number;
  processes: MeasuredProcesses;
}

export interface WatchResult {
  /**
   * Only for `pace`: the time of each event since the acknowledgement of its write, negative if the event was first.
   */
  sample?: Sample;
  /** Only for `pace`: the total number of events that watchers should get. */
  expected: number;
  /** Only for `count`: the events of all watchers, from the first to the last. */
  events: number;
  seconds: number;
  /** Watchers with all events: up to the last, and as many as any other. */
  complete: number;
}

const nothing: WatchResult = { events: 0, expected: 0, seconds: 0, complete: 0 };
let watchers: WatchConnection[] = [];

async function work(job: WatchJob): Promise<WatchResult> {
  if (job.type === 'open')
    watchers = await Promise.all(Array.from({ length: job.watchers }, () => WatchConnection.open(job)));
  else if (job.type === 'pace') return pace(job);
  else if (job.type === 'count') return count(job);
  else for (const watcher of watchers) watcher.close();
  return nothing;
}

async function pace(job: PaceJob): Promise<WatchResult> {
  const acknowledged = new Map<string, number>();
  const delivered: { revision: string; at: number }[] = [];
  for (const watcher of watchers)
    watcher.onEvent = (line) => void delivered.push({ revision: resourceVersionIn(line), at: performance.now() });
  const recorder = new SampleRecorder(job.processes);
  recorder.open();
  const writes = await write(job, (revision) => void acknowledged.set(revision, performance.now()));
  const expected = writes * watchers.length;
  for (const deadline = performance.now() + 10_000; delivered.length < expected && performance.now() < deadline;)
    await delay(10);
  for (const { revision, at } of delivered) recorder.add(at - (acknowledged.get(revision) ?? at));
  return { ...nothing, sample: recorder.close(), expected };
}

/** Returns the number of writes. */
async function write(
  { model, object, attachment, ...job }: PaceJob,
  onAcknowledged: (revision: string) => void,
): Promise<number> {
  const plan = {
    type: 'update' as const,
    model,
    objects: [object],
    ...(attachment === undefined ? {} : { attachment }),
  };
  const source = requestSource(plan, job.authorization);
  const connection = await HttpConnection.open(job.port);
  source.answered?.(0, await connection.request(source.prepare!(0)));
  const begin = performance.now();
  const writes = Math.round(job.seconds * job.writesPerSecond);
  for (let i = 0; i < writes; i += 1) {
    await delay(Math.max(0, begin + (i * 1000) / job.writesPerSecond - performance.now()));
    const answer = await connection.request(source.next(0));
    if (answer.status !== 200) throw new Error(`an update failed: ${answer.body.toString()}`);
    onAcknowledged(resourceVersionIn(answer.body));
    source.answered?.(0, answer);
  }
  connection.close();
  return writes;
}

async function count({ untilRevision, timeoutSeconds }: WatchJob & { type: 'count' }): Promise<WatchResult> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  const isComplete = (watcher: WatchConnection): boolean => watcher.lastRevision >= untilRevision;
  while (!watchers.every((watcher) => watcher.isClosed || isComplete(watcher)) && performance.now() < deadline)
    await delay(10);
  const first = Math.min(...watchers.map(({ firstEventAt }) => firstEventAt));
  const last = Math.max(...watchers.map(({ lastEventAt }) => lastEventAt));
  const events = watchers.reduce((sum, watcher) => sum + watcher.events, 0);
  const most = Math.max(...watchers.map((watcher) => watcher.events));
  const complete = watchers.filter((watcher) => isComplete(watcher) && watcher.events === most).length;
  return { ...nothing, events, seconds: (last - first) / 1000, complete };
}

serveJobs(work);
