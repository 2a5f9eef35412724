import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '../../../pkg/apimachinery/index.ts';
import { startSvcServer, type SvcServer } from './client/svc-server.ts';
import { replayTraces, type ReplayedTrace } from './trace/replay-traces.ts';
import type { RequestStep, Trace } from './trace/trace.ts';

const lines = readFileSync(new URL('cases/recorded-sequences.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n');
const traces = lines.map((line) => JSON.parse(line) as Trace);
/** Objects whose finalizers stay keep their definition: a model is replayed once. */
const falsified = traces.pop()!;

let server: SvcServer;
/** All at once: each step waits for the next second. */
let replays: ReplayedTrace[];
beforeAll(async () => {
  server = await startSvcServer();
  const steps = falsified.steps.filter((step): step is RequestStep => 'request' in step && step.status < 300);
  (steps.at(-1)!.answer['metadata'] as JsonObject)['labels'] = { wrong: 'x' };
  replays = (await Promise.all([...traces, falsified].map((trace) => replayTraces(server.client, [trace])))).flat();
});
afterAll(() => server.stop());

describe('sequences that a Kubernetes API server answered', () => {
  test.each(traces.map((trace, index) => [trace.title, index] as const))('%s', (_, index) => {
    expect(replays[index]!.difference).toBeUndefined();
    expect(replays[index]!.compared).toBeGreaterThan(1);
  });

  test('a wrong answer is found', () => {
    expect(replays.at(-1)!.difference).toMatchObject({ what: 'answer' });
  });
});
