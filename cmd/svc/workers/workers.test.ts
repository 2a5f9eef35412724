import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { registerReading } from '#pkg/http/index';
import { connectionsOf } from '../composition/pool-sizes.ts';
import { loadOptions } from '../options/load-options.ts';
import type { Options } from '../options/option-table.ts';
import { availableCores } from './available-cores.ts';
import { mergeMetrics } from './merge-metrics.ts';
import { optionsOfWorker } from './options-of-worker.ts';
import { SharedCounts } from './shared-counts.ts';
import { workerCount, workersWithin } from './worker-count.ts';

function optionsWith(...args: string[]): Options {
  return loadOptions({ environment: {}, args }).options;
}

describe('the cores of control groups', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-cgroup-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    { reason: 'no quota', self: '0::/svc', files: { 'svc/cpu.max': 'max 100000' }, cores: 8 },
    { reason: 'its own', self: '0::/svc', files: { 'svc/cpu.max': '250000 100000' }, cores: 2.5 },
    {
      reason: 'that of a group above, which is lower',
      self: '0::/system.slice/svc',
      files: { 'system.slice/svc/cpu.max': '400000 100000', 'system.slice/cpu.max': '150000 100000' },
      cores: 1.5,
    },
    {
      reason: 'a container, whose path is not mounted',
      self: '0::/kubepods/pod1',
      files: { 'cpu.max': '50000 100000' },
      cores: 0.5,
    },
    {
      reason: 'version 1',
      self: '5:memory:/svc\n4:cpu,cpuacct:/svc',
      files: {
        'cpu,cpuacct/svc/cpu.cfs_quota_us': '300000',
        'cpu,cpuacct/svc/cpu.cfs_period_us': '100000',
        'cpu,cpuacct/cpu.cfs_quota_us': '-1',
        'cpu,cpuacct/cpu.cfs_period_us': '100000',
      },
      cores: 3,
    },
    { reason: 'more than there are', self: '0::/', files: { 'cpu.max': '1600000 100000' }, cores: 8 },
    { reason: 'no control groups', self: undefined, files: {}, cores: 8 },
  ])('$reason', ({ reason, self, files, cores }) => {
    const root = join(folder, reason);
    for (const [name, text] of Object.entries({ ...files, ...(self === undefined ? {} : { self }) })) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), `${text}\n`);
    }
    expect(availableCores({ root, self: join(root, 'self') }, 8)).toBe(cores);
  });
});

test.each([
  [0.5, 1],
  [1, 1],
  [2, 1],
  [2.9, 1],
  [3, 2],
  [4, 3],
  [5, 4],
  [64, 4],
])('on %d cores it chooses %d workers, or what the option says', (cores, workers) => {
  expect(workerCount(optionsWith(), cores)).toBe(workers);
  expect(workerCount(optionsWith('--svc.server.workers=7'), cores)).toBe(7);
});

test('a number of workers that is none is refused', () => {
  for (const text of ['0', '-1', '1.5', '65', 'all'])
    expect(() => optionsWith(`--svc.server.workers=${text}`)).toThrow(
      /svc.server.workers is malformed: .* is not a whole number from 1 to 64/,
    );
});

test('workers fit into the connections of PostgreSQL: fewer by default, an error for a number that was asked for', () => {
  expect([1, 2, 3, 4].map((workers) => connectionsOf({ poolSize: 10, workers }))).toEqual([49, 54, 69, 84]);
  expect(workersWithin(100, 4, optionsWith())).toBe(4);
  expect(workersWithin(60, 4, optionsWith())).toBe(2);
  expect(workersWithin(20, 4, optionsWith())).toBe(1);
  expect(workersWithin(20, 1, optionsWith('--svc.server.workers=1'))).toBe(1);
  expect(() => workersWithin(60, 4, optionsWith('--svc.server.workers=4'))).toThrow(
    'svc.server.workers is 4, which needs up to 84 connections, and PostgreSQL has 60 for svc; set max_connections there to more, or svc.server.workers to 2.',
  );
});

test('the limits of all workers add up to those of the options', () => {
  const options = optionsWith(
    '--svc.http.max-in-flight=10',
    '--svc.http.max-senders=0',
    '--svc.http.max-bytes-in-flight=512MiB',
  );
  const all = [1, 2, 3, 4].map((worker) => optionsOfWorker(options, { worker, of: 4 }));
  expect(all.map((each) => each['svc.http.max-in-flight'])).toEqual([3, 3, 2, 2]);
  expect(all.map((each) => each['svc.http.max-senders'])).toEqual([0, 0, 0, 0]);
  expect(all.map((each) => each['svc.http.max-bytes-in-flight'])).toEqual(
    [128, 128, 128, 128].map((mib) => mib * 1024 ** 2),
  );
  expect(all.map((each) => each['svc.database.pool-size'])).toEqual([4, 4, 4, 4]);
  // Counted by the parent.
  expect(all.map((each) => each['svc.http.max-watches'])).toEqual([8000, 8000, 8000, 8000]);
});

test('counts are exact over all workers, and those of a dead one go with it', () => {
  const counts = new SharedCounts();
  const keys = (user: string) => [
    { key: 'watches', limit: 3 },
    { key: `watches/${user}`, limit: 2 },
  ];
  expect([counts.enter(1, keys('ann')), counts.enter(2, keys('ann')), counts.enter(2, keys('ann'))]).toEqual([
    undefined,
    undefined,
    1,
  ]);
  expect([counts.enter(2, keys('bob')), counts.enter(1, keys('bob'))]).toEqual([undefined, 0]);
  // Leaving twice counts once.
  counts.leave(1, ['watches', 'watches/ann']);
  counts.leave(1, ['watches', 'watches/ann']);
  expect(counts.enter(1, keys('ann'))).toBeUndefined();
  counts.forget(2);
  expect([counts.enter(1, keys('ann')), counts.enter(1, keys('bob')), counts.enter(1, keys('bob'))]).toEqual([
    undefined,
    undefined,
    0,
  ]);
  counts.forget(1);
  expect(counts.size).toBe(0);
});

test('the metrics of all workers are one exposition, each metric in one place', async () => {
  const texts = await Promise.all(
    ['1', '2'].map((worker) => {
      const registry = new Registry();
      registry.setDefaultLabels({ worker });
      registerReading({ registry, type: 'gauge', name: 'svc_models', help: 'Models.', read: () => Number(worker) });
      registerReading({
        registry,
        type: 'counter',
        name: 'svc_of_one_total',
        help: 'A.',
        read: () => (worker === '2' ? 5 : []),
      });
      return registry.metrics();
    }),
  );
  expect(mergeMetrics(['', ...texts])).toBe(
    '# HELP svc_models Models.\n# TYPE svc_models gauge\nsvc_models{worker="1"} 1\nsvc_models{worker="2"} 2\n\n' +
      '# HELP svc_of_one_total A.\n# TYPE svc_of_one_total counter\nsvc_of_one_total{worker="2"} 5\n',
  );
});
