import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { flag, text, wholeNumber } from '../harness/run/option-values.ts';

export interface ConformanceOptions {
  /** The folder of the peer, whose `bin` has its programs; undefined: the suite is skipped. */
  peer: string | undefined;
  seed: string;
  models: number;
  objects: number;
  steps: number;
  /** How many models at once. */
  parallel: number;
  /** Only this one of the models. */
  only?: number;
  /** Also sends the requests to a server of ours. */
  http: boolean;
  recordFile: string | undefined;
  sequencesFile: string | undefined;
  summaryFile: string | undefined;
}

export const usage = `Usage: make conformance ARGS='--peer=FOLDER ...'
  --peer=FOLDER        a Kubernetes API server for custom resources: FOLDER/bin/crdserver and FOLDER/bin/etcd
  --seed=TEXT          decides models and requests; default a new one, printed first
  --models=20          how many random models
  --model=N            only this one of them
  --objects=60         objects of each model: each has a sequence of requests of its own
  --steps=14           requests to each object
  --parallel=6         how many models at once
  --http               also sends the requests to a server of ours, and compares its answers
  --record=FILE        appends each step that differs, as a case of recorded-steps.test.ts
  --sequences=FILE     with --http appends the first sequence of each model, and each that differs over HTTP
  --summary=FILE       writes {"passed", "failed", "failures"}
`;

/** Throws an Error that describes the problem. */
export function parseConformanceOptions(args: string[]): ConformanceOptions {
  const { values } = parseArgs({
    args,
    options: {
      peer: text,
      seed: text,
      models: text,
      model: text,
      objects: text,
      steps: text,
      parallel: text,
      http: flag,
      record: text,
      sequences: text,
      summary: text,
    },
  });
  return {
    peer: values.peer,
    seed: values.seed ?? randomBytes(6).toString('hex'),
    models: wholeNumber('models', values.models ?? '20', 1),
    objects: wholeNumber('objects', values.objects ?? '60', 1),
    steps: wholeNumber('steps', values.steps ?? '14', 1),
    parallel: wholeNumber('parallel', values.parallel ?? '6', 1),
    ...(values.model === undefined ? {} : { only: wholeNumber('model', values.model) }),
    http: values.http ?? false,
    recordFile: values.record,
    sequencesFile: values.sequences,
    summaryFile: values.summary,
  };
}
