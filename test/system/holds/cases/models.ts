import { readCpuTime, readMemory } from '../../harness/process/process-usage.ts';
import type { HoldRow } from '../hold-case.ts';
import { MeasuredServer, type MeasuredRequest } from '../measured-server.ts';
import { collectionOf, create, definition, definitionsPath, group, object } from '../sample-model.ts';

export interface ModelsRun {
  parent: string;
  models: number;
  report: (row: HoldRow) => void;
  print: (fact: string) => void;
}

const limitMs = 100;
const reads = 2000;
const warmUp = 4000;

/**
 * Many models: the cost of the first and the last one, of their documents, a read and memory, and of the start with all
 * of them.
 */
export async function measureModels({ parent, models, report, print }: ModelsRun): Promise<void> {
  let server = await MeasuredServer.start(parent);
  let dataDir = '';
  try {
    await post(server, 0);
    await create(server, pluralOf(0), object(pluralOf(0), 'one', { spec: { title: 'x' } }));
    await timeReads(server, warmUp);
    print(`models: GET of one object with 1 model: ${(await timeReads(server, reads)).toFixed(3)} ms of CPU`);
    const before = readMemory({ server: server.pid }).server;
    const rows = { first: 0, last: 0, cpuMs: 0, wallMs: 0 };
    for (let position = 1; position < models; position += 1) {
      const started = performance.now();
      const { hold } = await measured(server, position);
      const took = performance.now() - started;
      if (position <= 50) rows.first += took / 50;
      if (position > models - 51) rows.last += took / 50;
      rows.cpuMs = Math.max(rows.cpuMs, hold.cpuMs);
      rows.wallMs = Math.max(rows.wallMs, hold.wallMs);
    }
    print(
      `models: POST of a definition: ${rows.first.toFixed(1)} ms for the first fifty, ${rows.last.toFixed(1)} ms for the last fifty`,
    );
    report({
      name: `models: definitions posted, up to ${models}`,
      size: 0,
      statuses: '201',
      cpuMs: rows.cpuMs,
      wallMs: rows.wallMs,
      limitMs,
    });
    print(`models: GET of one object with ${models} models: ${(await timeReads(server, reads)).toFixed(3)} ms of CPU`);
    print(
      `models: memory grew from ${before.toFixed(0)} to ${readMemory({ server: server.pid }).server.toFixed(0)} MB`,
    );
    await documents(server, 'served for long', report);
    await measuredRow(
      server,
      'models: a definition changes',
      {
        method: 'PATCH',
        path: `${definitionsPath}/${pluralOf(7)}.${group}`,
        body: '{"spec":{"names":{"categories":["c"]}}}',
        headers: { 'Content-Type': 'application/merge-patch+json' },
      },
      report,
    );
    await documents(server, 'after a change', report);
    dataDir = await server.stop({ keep: true });
    const started = performance.now();
    server = await MeasuredServer.start(parent, dataDir);
    print(
      `models: start with ${models}: ready after ${(performance.now() - started).toFixed(0)} ms, ${readMemory({ server: server.pid }).server.toFixed(0)} MB, longest hold ${server.startHold.cpuMs.toFixed(0)} ms`,
    );
    await documents(server, 'after a start', report);
    await measuredRow(
      server,
      'models: first write of a model',
      {
        method: 'POST',
        path: collectionOf(pluralOf(5)),
        body: JSON.stringify(object(pluralOf(5), 'one', { spec: { title: 'x' } })),
      },
      report,
    );
  } finally {
    await server.stop();
  }
  const empty = performance.now();
  const none = await MeasuredServer.start(parent);
  dataDir = await none.stop({ keep: true });
  const started = performance.now();
  const again = await MeasuredServer.start(parent, dataDir);
  print(
    `models: start with none: ready after ${(performance.now() - started).toFixed(0)} ms (the very first: ${(started - empty).toFixed(0)} ms), ${readMemory({ server: again.pid }).server.toFixed(0)} MB`,
  );
  await again.stop();
}

function pluralOf(position: number): string {
  return `model${position}s`;
}

/** About ten models in a group, as on real platforms; the schema has the usual size. */
function definitionOf(position: number): Record<string, unknown> {
  const text = { type: 'string', maxLength: 100 };
  const spec = {
    type: 'object',
    required: ['title'],
    properties: {
      title: { ...text, description: 'What it is called.' },
      slug: { type: 'string', pattern: '^[a-z0-9-]+$' },
      tags: { type: 'array', items: text },
      priority: { type: 'integer', minimum: 0, maximum: 1000, default: 1 },
      owner: { type: 'object', properties: { name: text, mail: { type: 'string', format: 'email' } } },
    },
  };
  const schema = { type: 'object', properties: { spec, status: { type: 'object', properties: { phase: text } } } };
  return definition(pluralOf(position), [
    {
      schema,
      extra: { subresources: { status: {} }, indexes: [{ name: 'spec.slug', path: 'spec.slug', type: 'string' }] },
    },
  ]);
}

async function post(server: MeasuredServer, position: number): Promise<void> {
  await server.expect({ method: 'POST', path: definitionsPath, body: JSON.stringify(definitionOf(position)) });
}

async function measured(
  server: MeasuredServer,
  position: number,
): Promise<{ hold: { cpuMs: number; wallMs: number } }> {
  return server.measure(() => post(server, position), 0);
}

async function measuredRow(
  server: MeasuredServer,
  name: string,
  request: MeasuredRequest,
  report: (row: HoldRow) => void,
): Promise<void> {
  const { result, hold } = await server.measure(() => server.request(request));
  report({ name, size: result.text.length, statuses: String(result.status), ...hold, limitMs });
}

async function documents(server: MeasuredServer, when: string, report: (row: HoldRow) => void): Promise<void> {
  const aggregated = { Accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };
  for (const path of [
    '/apis',
    `/apis/${group}/v1`,
    '/openapi/v3',
    `/openapi/v3/apis/${group}/v1`,
    '/docs/openapi/extension.json',
    '/docs/openapi/aggregated.json',
    definitionsPath,
  ]) {
    await measuredRow(
      server,
      `models: ${path}, ${when}`,
      { method: 'GET', path, ...(path === '/apis' ? { headers: aggregated } : {}) },
      report,
    );
  }
}

/** Processor time of the server for one GET. Milliseconds. */
async function timeReads(server: MeasuredServer, count: number): Promise<number> {
  const before = readCpuTime({ server: server.pid }).server;
  for (let i = 0; i < count; i += 1) await server.expect({ method: 'GET', path: `${collectionOf(pluralOf(0))}/one` });
  return (readCpuTime({ server: server.pid }).server - before) / count;
}

/** Source: proc(5); user and system time in hundredths of a second. */
