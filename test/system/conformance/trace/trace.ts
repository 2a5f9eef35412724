import type { JsonObject, JsonValue } from '../../../../pkg/apimachinery/index.ts';

export type StepVerb = 'create' | 'replace' | 'merge' | 'json' | 'apply';

/** One request to the object of a trace. */
export interface StepRequest {
  verb: StepVerb;
  version: string;
  subresource: '' | 'status';
  manager: string;
  force?: boolean;
  dryRun: boolean;
  body: JsonValue;
}

/** A request with its answer. */
export interface RequestStep {
  request: StepRequest;
  status: number;
  answer: JsonObject;
}

/** A request, or a definition that replaces the one before. */
export type TraceStep = RequestStep | { definition: JsonObject };

/** What was done with one object, and what the peer answered. */
export interface Trace {
  /** Where it comes from: seed, model, object. */
  title: string;
  /** Of the object. */
  name: string;
  definition: JsonObject;
  /** The object before the first step. Default: there is none. */
  live?: JsonObject;
  steps: TraceStep[];
}

/** One step of a trace, as a trace of its own. */
export function singleStep(trace: Trace, step: number): Trace {
  let { definition, live } = trace;
  for (const entry of trace.steps.slice(0, step)) {
    if ('definition' in entry) ({ definition } = entry);
    else if (entry.status < 300 && !entry.request.dryRun) live = entry.answer;
  }
  const title = `${trace.title}, step ${step}`;
  return { title, name: trace.name, definition, ...(live === undefined ? {} : { live }), steps: [trace.steps[step]!] };
}

/** A step whose answer is another than ours. */
export interface Difference {
  step: number;
  what: string;
  expected: unknown;
  actual: unknown;
}
