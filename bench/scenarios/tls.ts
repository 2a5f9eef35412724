import { defineModel, startServer } from '../server/bench-server.ts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiServer } from '../../test/system/harness/process/api-server.ts';
import { BareProcess } from '../server/bare-process.ts';
import {
  bareContender,
  createObjects,
  runComparison,
  targetContender,
  targetOf,
  type BenchRun,
  type WindowTarget,
} from '../bench-run.ts';
import type { RequestPlan } from '../load/request-plan.ts';
import { modelOfSize, pathOf } from '../sample-post.ts';

const databaseName = 'tls';
const objects = 100;
const handshakes = 16;

/** The cost of https: a request on an existing connection, and one on a new connection. */
export async function benchTls(run: BenchRun): Promise<void> {
  const { database, options } = run;
  await database.create(databaseName);
  const api = await startServer({
    database,
    databaseName,
    command: 'serve',
    profileFolder: options.profileFolder,
  });
  const [authority, cert, key] = ['ca.crt', 'server.crt', 'server.key'].map((file) =>
    join(api.dataDir, 'tls', file),
  ) as [string, string, string];
  const express = await BareProcess.start('express', [cert, key]);
  try {
    await compareSchemes({ run, api, express, authority: await readFile(authority, 'utf8') });
  } finally {
    express.stop();
    await api.stop();
  }
}

async function compareSchemes({
  run,
  api,
  express,
  authority,
}: {
  run: BenchRun;
  api: ApiServer;
  express: BareProcess;
  authority: string;
}): Promise<void> {
  const model = modelOfSize(1000);
  await defineModel(api, model);
  const names = Array.from({ length: objects }, (_, i) => `post-${i}`);
  await createObjects(api, model, names);
  const bodies = new Map<string, string>();
  for (const name of names) bodies.set(`${pathOf(model)}/${name}`, await api.fetch(`${pathOf(model)}/${name}`));
  await express.answer(bodies);
  const compare = (scenario: string, load: Pick<WindowTarget, 'connections' | 'anew'>) => {
    const over = { ...load, plan: (): RequestPlan => ({ type: 'get', paths: [...bodies.keys()] }) };
    return runComparison(run, scenario, [
      targetContender(run, 'svc, https', () => ({ ...over, ...targetOf(run, api), port: api.tlsPort, authority })),
      targetContender(run, 'svc, http', () => ({ ...over, ...targetOf(run, api) })),
      bareContender(run, 'bare express, https, from memory', express, { ...over, authority }),
    ]);
  };
  for (const connections of run.options.connections)
    await compare(`GET one object over https, c=${connections}`, { connections });
  await compare(`GET one object over https, a connection each, c=${handshakes}`, {
    connections: handshakes,
    anew: true,
  });
}
