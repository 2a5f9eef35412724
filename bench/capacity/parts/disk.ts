import { setTimeout as delay } from 'node:timers/promises';
import type { ApiServer } from '../../../test/system/harness/process/api-server.ts';
import { inParallel } from '../../controllers/in-parallel.ts';
import { number } from '../../../test/system/harness/run/table.ts';
import type { CapacityRun } from '../capacity-run.ts';
import { posts, realModels, type SampleObjects } from '../sample-objects.ts';
import { changeLogBytes, tableSizes, walBytes, type TableSizes } from '../table-sizes.ts';

const writers = 16;

interface Footprint {
  sample: SampleObjects;
  json: number;
  sizes: TableSizes;
  log: { create: number; update: number; status: number };
  wal: { create: number; update: number; status: number; updateCold: number };
}

/** Bytes of a stored object, and of each kind of write: on disk, in the history, and in PostgreSQL's WAL. */
export async function measureDisk(run: CapacityRun): Promise<void> {
  // Autovacuum writes without a request.
  for (const text of ['ALTER SYSTEM SET autovacuum = off', 'SELECT pg_reload_conf()']) await run.database.query(text);
  const footprints: Footprint[] = [];
  for (const sample of [posts(1), posts(4), posts(20), ...realModels()]) footprints.push(await footprint(run, sample));
  const each = ({ sizes }: Footprint, bytes: number): string => number(bytes / sizes.rows);
  const indexBytes = ({ sizes }: Footprint): number => sizes.indexes.reduce((sum, { bytes }) => sum + bytes, 0);
  run.report.table(`Bytes of an object at rest (${run.options.samples} of each)`, [
    ['model', 'JSON', 'row', 'out of line (TOAST)', 'all indexes', 'together'],
    ...footprints.map((found) => {
      const { sizes } = found;
      return [
        found.sample.name,
        number(found.json),
        each(found, sizes.heap),
        each(found, sizes.toast),
        `${each(found, indexBytes(found))} (${sizes.indexes.length})`,
        each(found, sizes.heap + sizes.toast + indexBytes(found)),
      ];
    }),
  ]);
  for (const found of footprints.filter((_, i) => i === 0 || i === footprints.length - 1)) {
    run.report.table(`Bytes an object of each index: ${found.sample.name}`, [
      ['index', 'bytes'],
      ...found.sizes.indexes.map(({ columns, bytes }) => [columns, each(found, bytes)]),
    ]);
  }
  run.report.table('Bytes that a write adds to the history of changes', [
    ['model', 'create', 'update', 'status update'],
    ...footprints.map(({ sample, log }) => [sample.name, number(log.create), number(log.update), number(log.status)]),
  ]);
  run.report.table("Bytes that a write adds to PostgreSQL's log (WAL)", [
    [
      'model',
      'create',
      'update',
      'status update',
      'update of an object whose pages were not written since the last checkpoint',
    ],
    ...footprints.map(({ sample, wal }) => [
      sample.name,
      number(wal.create),
      number(wal.update),
      number(wal.status),
      number(wal.updateCold),
    ]),
  ]);
}

async function footprint({ api, database, options }: CapacityRun, sample: SampleObjects): Promise<Footprint> {
  await define(api, sample);
  await untilQuiet(database);
  const count = options.samples;
  /** Bytes of each write, in the history and in the WAL. */
  const counted = async (write: (i: number) => Promise<unknown>): Promise<{ log: number; wal: number }> => {
    const before = await changeLogBytes(database);
    const wal = await walBytes(database, () => inParallel(writers, count, write));
    return { log: ((await changeLogBytes(database)) - before) / count, wal: wal / count };
  };
  let round = 0;
  const update = (i: number): Promise<string> =>
    put(api, `${sample.path}/${nameOf(sample, i)}`, sample.object(i, round));
  const status = (i: number): Promise<string> =>
    api.fetch(`${sample.path}/${nameOf(sample, i)}/status`, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: JSON.stringify(sample.status(round)),
    });
  const next = async <T>(work: () => Promise<T>): Promise<T> => {
    round += 1;
    return work();
  };
  await database.query('CHECKPOINT');
  const created = await counted((i) =>
    api.fetch(sample.path, { method: 'POST', body: JSON.stringify(sample.object(i, 0)) }),
  );
  const sizes = await tableSizes(database, sample.plural);
  // Statuses first: an object that has one is larger.
  await next(() => counted(status));
  const json = Buffer.byteLength(await api.fetch(`${sample.path}/${nameOf(sample, 0)}`));
  const statusWritten = await next(() => counted(status));
  const updated = await next(() => counted(update));
  await database.query('CHECKPOINT');
  // Each write is the first one to its page since the checkpoint.
  const cold = await next(() => coldUpdates(database, sizes, count, update));
  return {
    sample,
    json,
    sizes,
    log: { create: created.log, update: updated.log, status: statusWritten.log },
    wal: { create: created.wal, update: updated.wal, status: statusWritten.wal, updateCold: cold },
  };
}

/** Updates so few objects that no two share a page. */
async function coldUpdates(
  database: CapacityRun['database'],
  sizes: TableSizes,
  count: number,
  update: (i: number) => Promise<unknown>,
): Promise<number> {
  const step = Math.max(8, Math.ceil((8192 * count) / sizes.heap) * 3);
  const chosen = Array.from({ length: Math.max(1, Math.floor(count / step) - 2) }, (_, i) => i * step);
  // First updates the pages that all share, those of the history.
  for (let i = 1; i < step && i < count; i += 1) await update(count - i);
  const wal = await walBytes(database, () => inParallel(1, chosen.length, (i) => update(chosen[i]!)));
  return wal / chosen.length;
}

/** A new definition causes further writes: its status, and its roles. */
async function untilQuiet(database: CapacityRun['database']): Promise<void> {
  for (const deadline = performance.now() + 30_000; performance.now() < deadline;)
    if ((await walBytes(database, () => delay(1000))) < 2000) return;
}

function nameOf(sample: SampleObjects, i: number): string {
  return (sample.object(i, 0)['metadata'] as { name: string }).name;
}

function put(api: ApiServer, path: string, object: object): Promise<string> {
  return api.fetch(path, { method: 'PUT', body: JSON.stringify(object) });
}

/** Creates the definition, and the namespace of its objects. */
export async function define(api: ApiServer, { definition, path }: SampleObjects): Promise<void> {
  await api.fetch('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    method: 'POST',
    body: JSON.stringify(definition),
  });
  await api.untilServed(`${path}?limit=1`);
}
