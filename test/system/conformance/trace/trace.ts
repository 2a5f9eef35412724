import type { JsonObject, JsonValue } from '../../../../pkg/apimachinery/index.ts';

export type StepVerb = 'create' | 'replace' | 'merge' | 'json' | 'apply';

/** One request to the object of a trace. */
export interface StepRequest {
  verb: StepVerb;
  version: string;
  subresource: '' | 'status' | 'scale';
  manager: string;
  force?: boolean;
  dryRun: boolean;
  body: JsonValue;
}

export interface StepAnswer {
  status: number;
  answer: JsonObject;
  /** After a write of `/scale`, whose answer is a Scale: the object. */
  scaled?: JsonObject;
}

/** A request with its answer. */
export interface RequestStep extends StepAnswer {
  request: StepRequest;
}

/** A request, or a definition that replaces the one before. */
export type TraceStep = RequestStep | { definition: JsonObject };

/** What was done with one object, and what the peer answered. */
export interface Trace {
  /** Where it comes from: seed, model, object. */
  title: string;
  /** Of the object, until a generated one replaces it. */
  name: string;
  definition: JsonObject;
  /** The object before the first step. Default: there is none. */
  live?: JsonObject;
  steps: TraceStep[];
}

/** The object after a step that found `live`. */
export function objectAfter(
  live: JsonObject | undefined,
  { dryRun }: StepRequest,
  { status, answer, scaled }: StepAnswer,
): JsonObject | undefined {
  return status >= 300 || dryRun ? live : (scaled ?? answer);
}

/** One step of a trace, as a trace of its own. */
export function singleStep(trace: Trace, step: number): Trace {
  let { definition, live } = trace;
  for (const entry of trace.steps.slice(0, step)) {
    if ('definition' in entry) ({ definition } = entry);
    else live = objectAfter(live, entry.request, entry);
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
