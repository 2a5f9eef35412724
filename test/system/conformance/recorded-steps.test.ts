import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { checkTrace } from './trace/check-trace.ts';
import type { JsonObject } from '../../../pkg/apimachinery/index.ts';
import type { RequestStep, Trace } from './trace/trace.ts';

const lines = readFileSync(new URL('cases/recorded-steps.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n');
const traces = lines.map((line) => JSON.parse(line) as Trace);

describe('steps that a Kubernetes API server answered', () => {
  test.each(traces.map((trace) => [trace.title, trace] as const))('%s', (_, trace) => {
    expect(checkTrace(trace)).toEqual([]);
  });

  test('a wrong answer is found', () => {
    const trace = structuredClone(traces.find(({ steps: [step] }) => 'request' in step! && step.status === 200)!);
    const [step] = trace.steps as [RequestStep];
    step.answer['metadata'] = { ...(step.answer['metadata'] as JsonObject), managedFields: [{ manager: 'nobody' }] };
    expect(checkTrace(trace)).not.toEqual([]);
  });
});
