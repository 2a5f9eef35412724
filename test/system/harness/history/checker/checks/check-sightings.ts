import type { Operation } from '../../history.ts';
import type { Examination } from '../examination/examination.ts';
import type { Change } from '../log/replayed-log.ts';

/**
 * Collects when each revision was first seen, as a lower bound for later requests. A change that was seen before its
 * request is reported, and does not count.
 */
export function checkSightings(run: Examination): void {
  const { log, times, history } = run;
  for (const { row, index } of log.changes) times.notAfter(index, row.recorded, row);
  for (const operation of history.operations) checkOperation(run, operation);
  for (const watcher of history.watchers) {
    for (const stream of watcher.streams) {
      const source = { watcher, stream };
      for (const event of stream.events) {
        const revision = event.type === 'BOOKMARK' ? event.revision : event.object.revision;
        const index = log.indexAt(revision);
        const made = times.earliestOf(index);
        if (event.received >= made.at) {
          times.notAfter(index, event.received, source);
          continue;
        }
        run.violations.report('read-future', () => ({
          text: `watcher ${watcher.id} on ${stream.replica} received ${event.type} ${revision} at ${run.narrator.time(event.received)}, before ${run.narrator.bound(made)} asked for that or an earlier change`,
          records: [event, made.source],
        }));
      }
    }
  }
}

function checkOperation(run: Examination, operation: Operation): void {
  const { log, times, violations, narrator } = run;
  for (const revision of seenRevisions(operation, run)) {
    const index = log.indexAt(revision);
    const made = times.earliestOf(index);
    if (revision <= log.last && operation.completed >= made.at) {
      times.notAfter(index, operation.completed, operation);
      continue;
    }
    const isRead = operation.verb === 'get' || operation.verb === 'list';
    const why =
      revision > log.last
        ? 'which was never reached'
        : `before ${narrator.bound(made)} asked for that or an earlier change`;
    violations.report(isRead ? 'read-future' : 'write-order', () => ({
      text: `${narrator.operation(operation)} was told revision ${revision}, ${why}`,
      records: [operation, made.source],
    }));
  }
}

/** A write with a wrong revision in its response is reported elsewhere; here its real revision counts. */
function seenRevisions(operation: Operation, { log }: Examination): number[] {
  if (operation.outcome.type !== 'ok') return [];
  switch (operation.verb) {
    case 'list':
      return [operation.outcome.revision];
    case 'get':
      return [operation.outcome.object.revision];
    case 'delete':
      return revisionOf(log.deletions.get(operation.outcome.uid));
    case 'deleteCollection':
      return operation.outcome.deleted.flatMap(({ uid }) => revisionOf(log.deletions.get(uid)));
    default:
      return revisionOf(log.byMarker.get(operation.sent.marker));
  }
}

function revisionOf(change: Change | undefined): number[] {
  return change === undefined ? [] : [change.row.revision];
}
