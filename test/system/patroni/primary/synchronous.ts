import { join } from 'node:path';
import type { Operation } from '../../harness/history/history.ts';
import { onServers, type CaseOptions } from '../cluster/on-servers.ts';
import type { Recipe } from '../cluster/patroni-cluster.ts';
import { changePrimary, shuffledChanges, type WantedWrite } from './change-primary.ts';
import { outageLine, outageLines, type Outage } from './outage-table.ts';
import { underWorkload, writtenRevision } from './recorded-workload.ts';

/**
 * Three PostgreSQL servers; a commit waits for a standby. Nothing that was acknowledged or seen may be lost, so no
 * server may end, and no watch may start again.
 */
export async function synchronous(options: CaseOptions): Promise<void> {
  const { report, count } = options;
  report.say(`${count} switchovers and ${count} kills of the primary`);
  const folder = join(options.folder, 'synchronous');
  await onServers({ folder, size: 3, isSynchronous: true, report }, async (ground) => {
    await underWorkload(ground, options, async ({ operations, during }) => {
      const outages: Outage[] = [];
      for (const kind of shuffledChanges(options)) {
        const outage = await during(kind, () => {
          const from = operations.length;
          return changePrimary({
            cluster: ground.cluster,
            kind,
            firstAcknowledged: (recipe, wanted) => firstWritten(operations, { from, recipe, wanted }),
          });
        });
        outages.push(outage);
        report.say(outageLine(outage));
      }
      for (const line of outageLines(outages)) report.say(line);
    });
  });
}

/** When a server first acknowledged the write, among the operations from this one. */
function firstWritten(
  operations: readonly Operation[],
  { from, recipe, wanted }: { from: number; recipe: Recipe; wanted: WantedWrite },
): number | undefined {
  for (let i = from; i < operations.length; i += 1) {
    const operation = operations[i]!;
    if (operation.replica !== recipe || operation.completed < wanted.since) continue;
    if ((writtenRevision(operation) ?? 0) > wanted.above) return operation.completed;
  }
  return undefined;
}
