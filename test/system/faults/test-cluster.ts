import type { FaultPostgres } from './fault-postgres.ts';
import type { ModelChangeRecord } from '../harness/history/history.ts';
import type { Replica } from './replica.ts';
import type { RecordingClient } from '../harness/workload/recording-client.ts';
import type { Watcher } from '../harness/workload/watcher.ts';
import type { Writer } from '../harness/workload/writer.ts';

/** Everything that a fault can use. */
export interface TestCluster {
  postgres: FaultPostgres;
  replicas: readonly [Replica, Replica];
  writers: readonly Writer[];
  watchers: readonly Watcher[];
  /** For a fault's own requests. */
  operator: RecordingClient;
  modelChanges: ModelChangeRecord[];
}
