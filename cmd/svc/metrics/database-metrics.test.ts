import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { databaseFailures, writeRefusals, type DatabaseFailure, type WriteMonitor } from '#pkg/database/index';
import { DatabaseMetrics } from './database-metrics.ts';

const samplesOf = async (registry: Registry, name: string): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`));

test('each failure of the database is counted by its name, from 0', async () => {
  const registry = new Registry();
  const metrics = new DatabaseMetrics(registry);
  expect(await samplesOf(registry, 'svc_database_failures_total')).toEqual(
    databaseFailures.map((failure) => `svc_database_failures_total{failure="${failure}"} 0`),
  );
  for (const [i, failure] of databaseFailures.entries())
    for (let count = 0; count <= i; count += 1) metrics.failed(failure);
  expect(await samplesOf(registry, 'svc_database_failures_total')).toEqual(
    databaseFailures.map((failure, i) => `svc_database_failures_total{failure="${failure}"} ${i + 1}`),
  );
});

test('the reason for refused writes is 1, the others 0; each failure updates it', async () => {
  const registry = new Registry();
  const metrics = new DatabaseMetrics(registry);
  const suspected: DatabaseFailure[] = [];
  const monitor: Pick<WriteMonitor, 'refusal' | 'suspect'> = {
    refusal: 'disk_full',
    suspect: (failure) => void suspected.push(failure),
  };
  metrics.failed('read_only');
  metrics.registerWrites(monitor);
  metrics.failed('disk_full');
  expect(suspected).toEqual(['disk_full']);
  expect(await samplesOf(registry, 'svc_database_writes_refused')).toEqual(
    writeRefusals.map(
      (failure) => `svc_database_writes_refused{failure="${failure}"} ${failure === 'disk_full' ? 1 : 0}`,
    ),
  );
});
