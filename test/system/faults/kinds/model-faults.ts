import { setTimeout as delay } from 'node:timers/promises';
import { PostgresStore } from '#pkg/storage/index';
import { Database, silentLog } from '#pkg/database/index';
import type { Fault } from '../fault.ts';
import { declareIndex, dropModel, makeModel } from '../../harness/workload/define-models.ts';
import { pausing } from './pausing.ts';
import { revive } from './replica-faults.ts';
import { readList } from '../../harness/workload/read-list.ts';
import { fleeting, things } from '../../harness/workload/sample-models.ts';

const listsByNewIndex = 10;
/** Newer history is kept, so that servers without delays miss nothing. Milliseconds. */
const keptMs = 3000;
const idempotencyKeyAgeMs = 3_600_000;

export const modelFaults: readonly Fault[] = [
  {
    name: 'index-added',
    intent:
      'An index is added to a model with many objects: it is built during writes, and lists by it are correct from the first.',
    holdMs: 500,
    inject: async (cluster, random) => {
      await declareIndex(cluster, things, true);
      const { operator } = cluster;
      for (let i = 0; i < listsByNewIndex; i += 1) {
        const fields = [{ field: 'spec.extra', operator: 'in' as const, values: [`c-${random.below(5)}`] }];
        await readList(operator, {
          model: things,
          namespace: '',
          selector: { labels: [], fields },
          sort: [{ field: 'spec.extra', descending: false }],
        });
      }
    },
  },
  {
    name: 'index-removed',
    intent: 'An index is removed from a model under load: writes continue, and lists by it are refused.',
    holdMs: 500,
    inject: async (cluster) => declareIndex(cluster, things, false),
  },
  {
    name: 'model-dropped',
    intent:
      'A model is deleted with all its objects under load, every watcher receives each deletion, and the model is created again under the same name, empty.',
    holdMs: 500,
    inject: async (cluster) => {
      await dropModel(cluster, fleeting);
      await delay(300);
      await makeModel(cluster, fleeting);
    },
  },
  {
    name: 'history-compacted',
    intent:
      'History is repeatedly cut to three seconds while watchers are disconnected, and the servers, which remember more, are killed: watchers get 410, list again, and continue.',
    holdMs: 5000,
    // A server that is paused for longer than history is kept must start over, and exits.
    isAlone: true,
    inject: async ({ postgres, replicas, watchers }) => {
      const database = await Database.connect({ connection: postgres.testConnection, log: silentLog, poolSize: 2 });
      const store = await PostgresStore.open({ database, log: silentLog });
      const stop = pausing(100, () =>
        store.compact({ minAgeMs: keptMs, maxSizeBytes: Number.MAX_SAFE_INTEGER, idempotencyKeyAgeMs }),
      );
      const away = watchers.filter((_, i) => i % 2 === 0);
      for (const watcher of away) watcher.leave();
      return async () => {
        await stop();
        await store.close();
        await database.close();
        await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
        await revive(...replicas);
        for (const watcher of away) watcher.comeBack();
      };
    },
  },
];
