/**
 * `make conformance`: the same random requests to a real Kubernetes API server and to our managed fields; after each
 * request object, `metadata.managedFields` and refusals must be equal. Exits 1 on any difference.
 *
 * Meant differences, which are left out:
 * - `managedFields: []` resets the fields of every object; of a custom resource Kubernetes ignores it.
 * - A set of a version that is not served any more is dropped alone; Kubernetes drops all sets, or refuses the apply.
 * - An object that does not fit the schema of another version is compared as far as it fits; Kubernetes answers 500, or
 *   drops all sets.
 * - The status of another version is reset, too, at the object's own endpoint.
 * - At `/scale` an updater whose number stays keeps it; Kubernetes makes two entries of one manager.
 * - A manager that is sorted before `ancient-changes` is united with it; Kubernetes loses the united set.
 */
import { appendFileSync, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { print, runMain, untilInterrupted, type Outcome } from '../harness/run/run-main.ts';
import { SeededRandom } from '../harness/seeded-random.ts';
import { parseConformanceOptions, usage, type ConformanceOptions } from './conformance-options.ts';
import { PeerClient } from './peer/peer-client.ts';
import { missingPrograms, PeerProcess } from './peer/peer-process.ts';
import { checkTrace, type Difference } from './trace/check-trace.ts';
import { recordTraces } from './trace/record-trace.ts';
import { singleStep, type Trace } from './trace/trace.ts';

const maxShownBytes = 3000;
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
  const data = await mkdtemp(join(existsSync(memoryFolder) ? memoryFolder : tmpdir(), 'svc-conformance-'));
  const server = await PeerProcess.start(peer, data);
  const client = new PeerClient(server.url);
  try {
    return await untilInterrupted(compareModels(client, options));
  } finally {
    client.close();
    await server.stop();
    await rm(data, { recursive: true, force: true });
  }
}

/** Several models at once: the peer takes seconds to serve a definition, and works on others meanwhile. */
async function compareModels(client: PeerClient, options: ConformanceOptions): Promise<Outcome> {
  const { models, only, parallel } = options;
  const failures: string[] = [];
  let passed = 0;
  const numbers = (only === undefined ? Array.from({ length: models }, (_, index) => index) : [only]).values();
  const compareNext = async (): Promise<void> => {
    for (const model of numbers) {
      const outcome = await compareModel(client, model, options);
      passed += outcome.passed;
      failures.push(...outcome.failures);
      print(`model ${model}: ${passed} sequences equal, ${failures.length} not`);
    }
  };
  await Promise.all(Array.from({ length: parallel }, compareNext));
  return { passed, failures };
}

async function compareModel(
  client: PeerClient,
  model: number,
  { seed, objects, steps, recordFile }: ConformanceOptions,
): Promise<Outcome> {
  const failures: string[] = [];
  const random = new SeededRandom(seed).fork(`model ${model}`);
  const traces = await recordTraces({ client, random, seed, model, objects, steps });
  for (const trace of traces) {
    const [difference] = checkTrace(trace);
    if (difference === undefined) continue;
    failures.push(`conformance, ${trace.title}, step ${difference.step}: ${difference.what}`);
    print(describe(trace, difference));
    if (recordFile !== undefined) appendFileSync(recordFile, `${JSON.stringify(singleStep(trace, difference.step))}\n`);
  }
  return { passed: traces.length - failures.length, failures };
}

function describe(trace: Trace, { step, what, expected, actual }: Difference): string {
  const entry = trace.steps[step]!;
  const request = 'request' in entry ? entry.request : entry.definition;
  const shown = [request, expected, actual].map((value) => JSON.stringify(value).slice(0, maxShownBytes));
  return `${trace.title}, step ${step}: ${what}\n  request  ${shown[0]}\n  expected ${shown[1]}\n  actual   ${shown[2]}`;
}

await runMain({ usage, parse: parseConformanceOptions, run: runSuite });
