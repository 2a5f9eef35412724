import { startServer } from '../server/bench-server.ts';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { ApiServer } from '../../test/system/harness/process/api-server.ts';
import type { BenchRun } from '../bench-run.ts';
import { boundGoal } from '../report/goals.ts';
import { number } from '../../test/system/harness/run/table.ts';

const data = fileURLToPath(new URL('../../../shared/data', import.meta.url));
const shown = 3;
/** Work after the response counts too. Milliseconds. */
const aftermathMs = 250;

interface Definition {
  metadata: { name: string };
  spec: {
    group: string;
    scope: string;
    names: { plural: string; kind: string };
    versions: { name: string; storage: boolean }[];
  };
}

/**
 * The largest definitions of other projects: how soon they are served, and how long each step blocks the event loop.
 */
export async function benchDefinitions(run: BenchRun): Promise<void> {
  if (!existsSync(data)) {
    run.report.fact('SKIPPED', `the largest definitions: there is no ${data}`);
    return;
  }
  await run.database.create('definitions');
  const api = await startServer({
    database: run.database,
    databaseName: 'definitions',
    preload: new URL('../../test/system/harness/process/turn-meter.mjs', import.meta.url),
  });
  try {
    for (const [i, file] of largestFiles().entries()) await benchDefinition(run, api, file, i === 0);
  } finally {
    await api.stop();
  }
}

function largestFiles(): string[] {
  const files = readdirSync(data, { recursive: true, encoding: 'utf8' }).filter((name) => /crds\/.*\.yaml$/.test(name));
  return files
    .map((name) => `${data}/${name}`)
    .toSorted((a, b) => statSync(b).size - statSync(a).size)
    .slice(0, shown);
}

async function benchDefinition({ report }: BenchRun, api: ApiServer, file: string, isLargest: boolean): Promise<void> {
  const text = readFileSync(file, 'utf8');
  const { metadata, spec } = parse(text) as Definition;
  const version = spec.versions.find(({ storage }) => storage)!.name;
  const { kind, plural } = spec.names;
  const path = `/apis/${spec.group}/${version}${spec.scope === 'Namespaced' ? '/namespaces/default' : ''}/${plural}`;
  const object = JSON.stringify({
    apiVersion: `${spec.group}/${version}`,
    kind,
    metadata: { name: 'first' },
    spec: {},
  });
  const steps: [string, () => Promise<unknown>][] = [
    [
      'posted, until served',
      async () => {
        await api.fetch('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
          method: 'POST',
          body: text,
          headers: { 'Content-Type': 'application/yaml' },
        });
        await api.untilServed(`${path}?limit=1`);
      },
    ],
    // Valid or not: its schema is compiled and used.
    ['the first object', () => api.fetch(path, { method: 'POST', body: object }).catch(() => undefined)],
    ['its OpenAPI', () => api.fetch(`/openapi/v3/apis/${spec.group}/${version}`)],
  ];
  let longest = 0;
  for (const [who, work] of steps) {
    await api.process.ask('begin');
    const begin = performance.now();
    await work();
    const ms = performance.now() - begin;
    await delay(aftermathMs);
    const { cpuMs } = await api.process.ask<{ cpuMs: number }>('end');
    longest = Math.max(longest, cpuMs);
    report.figure({
      scenario: `definition of ${number(text.length / 1000)} kB, ${metadata.name}`,
      who,
      note: `${number(ms)} ms; longest turn of the event loop ${number(cpuMs)} ms of processor time`,
    });
  }
  if (isLargest)
    boundGoal(report, 'the largest definition, longest turn of the event loop', {
      value: longest,
      under: 50,
      unit: 'ms',
    });
}
