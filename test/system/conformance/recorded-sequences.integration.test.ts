import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '../../../pkg/apimachinery/index.ts';
import { startSvcServer, type SvcServer } from './client/svc-server.ts';
import { replayTraces } from './trace/replay-traces.ts';
import type { RequestStep, Trace } from './trace/trace.ts';

const lines = readFileSync(new URL('cases/recorded-sequences.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n');
const traces = lines.map((line) => JSON.parse(line) as Trace);
/** Objects whose finalizers stay keep their definition: a model is replayed once. */
const falsified = traces.pop()!;

let server: SvcServer;
beforeAll(async () => {
  server = await startSvcServer();
});
afterAll(() => server.stop());

describe('sequences that a Kubernetes API server answered', () => {
  test.each(traces.map((trace) => [trace.title, trace] as const))('%s', async (_, trace) => {
    const [replayed] = await replayTraces(server.client, [trace]);
    expect(replayed!.difference).toBeUndefined();
    expect(replayed!.compared).toBeGreaterThan(1);
  });

  test('a wrong answer is found', async () => {
    const steps = falsified.steps.filter((step): step is RequestStep => 'request' in step && step.status < 300);
    (steps.at(-1)!.answer['metadata'] as JsonObject)['labels'] = { wrong: 'x' };
    const [replayed] = await replayTraces(server.client, [falsified]);
    expect(replayed!.difference).toMatchObject({ what: 'answer' });
  });
});
