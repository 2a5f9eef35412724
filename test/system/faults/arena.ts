import type { FaultPostgres } from './fault-postgres.ts';
import type { ModelChangeRecord } from './history.ts';
import type { Replica } from './replica.ts';
import type { FaultClient } from './workload/fault-client.ts';
import type { Watcher } from './workload/watcher.ts';
import type { Writer } from './workload/writer.ts';

/** Everything a fault can get hold of. */
export interface Arena {
  postgres: FaultPostgres;
  replicas: readonly [Replica, Replica];
  writers: readonly Writer[];
  watchers: readonly Watcher[];
  /** For requests a fault makes itself. */
  operator: FaultClient;
  modelChanges: ModelChangeRecord[];
}
