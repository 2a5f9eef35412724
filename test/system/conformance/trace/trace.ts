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

/** A request with its answer; or a definition that replaces the one before. */
export type TraceStep = { request: StepRequest; status: number; answer: JsonObject } | { definition: JsonObject };

/** What was done with one object, and what the peer answered. */
export interface Trace {
  /** Where it comes from: the seed, and what it shows. */
  title: string;
  definition: JsonObject;
  steps: TraceStep[];
}
