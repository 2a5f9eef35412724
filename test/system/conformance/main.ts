/**
 * `make conformance`: the same random requests to a real Kubernetes API server and to our managed fields; after each
 * request object, `metadata.managedFields` and refusals must be equal. With `--http` they go to a server of ours, too,
 * and its answers must be equal, with status, reason and causes. Exits 1 on any difference.
 *
 * Meant differences, which are left out:
 * - `managedFields: []` resets the fields of every object; of a custom resource Kubernetes ignores it.
 * - A set of a version that is not served any more is dropped alone; Kubernetes drops all sets, or refuses the apply.
 * - An object that does not fit the schema of another version is compared as far as it fits; Kubernetes answers 500, or
 *   drops all sets.
 * - The status of another version is reset, too, at the object's own endpoint.
 * - At `/scale` a manager has one entry, with the replicas if the number stays, too; Kubernetes makes two entries of one
 *   manager, and forgets one.
 * - An apply of a Scale takes replicas that nobody owns as those of `before-first-apply`; Kubernetes answers 500.
 * - A configuration that does not fit the schema is refused with 400; Kubernetes answers 500.
 * - A null that the merge leaves, in a map whose last field was removed, is absence; Kubernetes refuses the apply.
 * - A null that an apply leaves in a field without a type, which allows none, is absence. Kubernetes counts it as a
 *   change in `generation`, and does not store it.
 * - The status is validated whole: Kubernetes does not miss `apiVersion` and `kind` of an embedded resource at
 *   `/status`, and refuses all other writes of the object then.
 * - A Scale shows 0 replicas, and names the largest number in a refusal; Kubernetes leaves both out.
 * - At `/status` all other fields are reset; Kubernetes resets only metadata and spec.
 * - A null within a list of a merge patch stays, as RFC 7386 says; Kubernetes removes it if the list is new.
 * - An entry that is older than `ancient-changes`, as one of `/scale`, which has no time, is united with it; Kubernetes
 *   deletes the united entry, so that its fields have no owner; what it unites next has the same name.
 */
import { appendFileSync, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { print, runMain, untilInterrupted, type Outcome } from '../harness/run/run-main.ts';
import { SeededRandom } from '../harness/seeded-random.ts';
import { startTestPostgres } from '../../../pkg/testenv/test-postgres.ts';
import { StepClient } from './client/step-client.ts';
import { startSvcServer } from './client/svc-server.ts';
import { parseConformanceOptions, usage, type ConformanceOptions } from './conformance-options.ts';
import { missingPrograms, PeerProcess, peerToken } from '../harness/process/peer-process.ts';
import { checkTrace } from './trace/check-trace.ts';
import { recordTraces } from './trace/record-trace.ts';
import { replayTraces } from './trace/replay-traces.ts';
import { singleStep, type Difference, type Trace } from './trace/trace.ts';

const maxShownBytes = 6000;
/** The data of etcd is written often and kept nowhere. */
const memoryFolder = '/dev/shm';

async function runSuite(options: ConformanceOptions): Promise<Outcome> {
  const { peer, seed } = options;
  const missing = peer === undefined ? ['--peer=FOLDER'] : missingPrograms(peer);
  if (peer === undefined || missing.length > 0) {
    const skipped = `there is no Kubernetes API server to compare with: ${missing.join(', ')}`;
    process.stderr.write(`WARNING: make conformance is SKIPPED: ${skipped}\n`);
    return { passed: 0, failures: [], skipped };
  }
  print(`seed ${seed}`);
  return withPeer(peer, (client) =>
    options.http
      ? withSvc((svc) => untilInterrupted(compareModels({ peer: client, svc }, options)))
      : untilInterrupted(compareModels({ peer: client }, options)),
  );
}

async function withPeer<Result>(folder: string, work: (client: StepClient) => Promise<Result>): Promise<Result> {
  const data = await mkdtemp(join(existsSync(memoryFolder) ? memoryFolder : tmpdir(), 'svc-conformance-'));
  try {
    const server = await PeerProcess.start(folder, data);
    const client = new StepClient({ url: server.url, token: peerToken });
    try {
      return await work(client);
    } finally {
      client.close();
      await server.stop();
    }
  } finally {
    await rm(data, { recursive: true, force: true });
  }
}

/** A server of ours on a PostgreSQL of its own. */
async function withSvc<Result>(work: (client: StepClient) => Promise<Result>): Promise<Result> {
  const postgres = await startTestPostgres();
  try {
    const server = await startSvcServer({ postgres: postgres.connection });
    try {
      return await work(server.client);
    } finally {
      await server.stop();
    }
  } finally {
    await postgres.stop();
  }
}

interface Clients {
  peer: StepClient;
  /** Undefined: the traces are only computed. */
  svc?: StepClient;
}

/** Several models at once: the peer takes seconds to serve a definition, and works on others meanwhile. */
async function compareModels(clients: Clients, options: ConformanceOptions): Promise<Outcome> {
  const { models, only, parallel } = options;
  const failures: string[] = [];
  let passed = 0;
  const numbers = (only === undefined ? Array.from({ length: models }, (_, index) => index) : [only]).values();
  const compareNext = async (): Promise<void> => {
    for (const model of numbers) {
      const outcome = await compareModel(clients, model, options);
      passed += outcome.passed;
      failures.push(...outcome.failures);
      print(`model ${model}: ${passed} sequences equal, ${failures.length} not`);
    }
  };
  await Promise.all(Array.from({ length: parallel }, compareNext));
  return { passed, failures };
}

async function compareModel(
  { peer, svc }: Clients,
  model: number,
  { seed, objects, steps, recordFile, sequencesFile }: ConformanceOptions,
): Promise<Outcome> {
  const random = new SeededRandom(seed).fork(`model ${model}`);
  const traces = await recordTraces({ client: peer, random, seed, model, objects, steps, isPaced: svc !== undefined });
  const failures = new Map<Trace, string>();
  const report = (trace: Trace, difference: Difference, where: string): void => {
    failures.set(trace, `conformance, ${trace.title}, step ${difference.step}${where}: ${difference.what}`);
    print(describe(trace, difference, where));
  };
  for (const trace of traces) {
    const [difference] = checkTrace(trace);
    if (difference === undefined) continue;
    report(trace, difference, '');
    appendCase(recordFile, singleStep(trace, difference.step));
  }
  if (svc !== undefined) {
    for (const [index, { trace, difference }] of (await replayTraces(svc, traces)).entries()) {
      if (difference !== undefined) report(trace, difference, ' over HTTP');
      if (difference !== undefined || index === 0) appendCase(sequencesFile, trace);
    }
  }
  return { passed: traces.length - failures.size, failures: [...failures.values()] };
}

function appendCase(file: string | undefined, trace: Trace): void {
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(trace)}\n`);
}

function describe(trace: Trace, { step, what, expected, actual }: Difference, where: string): string {
  const entry = trace.steps[step]!;
  const request = 'request' in entry ? entry.request : entry.definition;
  const shown = [request, expected, actual].map((value) => JSON.stringify(value).slice(0, maxShownBytes));
  return `${trace.title}, step ${step}${where}: ${what}\n  request  ${shown[0]}\n  expected ${shown[1]}\n  actual   ${shown[2]}`;
}

await runMain({ usage, parse: parseConformanceOptions, run: runSuite });
