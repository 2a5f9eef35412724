import type { FaultPostgres } from './fault-postgres.ts';
import type { ModelChangeRecord } from '../harness/history/history.ts';
import type { Replica } from './replica.ts';
import type { RecordingClient } from '../harness/workload/recording-client.ts';
import type { Watcher } from '../harness/workload/watcher.ts';
import type { Writer } from '../harness/workload/writer.ts';

/** Everything a fault can get hold of. */
export interface TestCluster {
  postgres: FaultPostgres;
  replicas: readonly [Replica, Replica];
  writers: readonly Writer[];
  watchers: readonly Watcher[];
  /** For requests a fault makes itself. */
  operator: RecordingClient;
  modelChanges: ModelChangeRecord[];
}
