import type { History, Operation, OperationId } from '../history.ts';
import { checkDeletedCollection } from './checks/check-deleted-collection.ts';
import { checkFinalState } from './checks/check-final-state.ts';
import { checkGet, checkListRevision } from './checks/check-freshness.ts';
import { checkList } from './checks/check-list.ts';
import { checkLog } from './checks/check-log.ts';
import { checkMakers } from './checks/check-makers.ts';
import { RefusalCheck } from './checks/check-refusals.ts';
import { checkSightings } from './checks/check-sightings.ts';
import { checkWatcher } from './checks/check-watcher.ts';
import { CommitTimes } from './log/commit-times.ts';
import { idText, type Examination } from './examination/examination.ts';
import { replayWithChecks, type SnapshotRequest } from './log/live-state.ts';
import { Narrator } from './examination/narrator.ts';
import { ReplayedLog } from './log/replayed-log.ts';
import { Statistics } from './examination/statistics.ts';
import { Violations, type Violation } from './examination/violation.ts';
import { WriteLedger } from './examination/write-ledger.ts';

export interface Verdict {
  /** At most 20 of each rule. */
  violations: Violation[];
  /** All of them, by rule. */
  counts: Record<string, number>;
  /** The texts of violations that the caller tolerates; `violations` and `counts` have the others. */
  tolerated: string[];
  /** What was checked. A run with many zeros proves little. */
  statistics: Record<string, number>;
}

/**
 * Checks the clients' observations against the log, and the log itself. A valid history has no violations; `Rule` lists
 * the promises. Time and memory grow with the history, lists with the number of candidate objects.
 * Violations whose text matches `tolerable` are kept apart.
 */
export function checkHistory(history: History, { tolerable }: { tolerable?: RegExp | undefined } = {}): Verdict {
  const run = examinationOf(history, new Violations(tolerable));
  const { log, times, violations, statistics } = run;
  checkLog(run);
  const ledger = new WriteLedger(run);
  nameOperations(run);
  for (const operation of history.operations) {
    statistics.add(`operations ${operation.verb} ${operation.outcome.type}`);
    ledger.take(operation);
  }
  ledger.settleClaims();
  times.sealEarliest();
  checkSightings(run);
  times.sealLatest();
  checkMakers(run, ledger);
  const requests: SnapshotRequest[] = [];
  const refusals = new RefusalCheck(run, ledger);
  for (const operation of history.operations) {
    refusals.check(operation);
    requests.push(...checkOperation(run, operation));
  }
  for (const watcher of history.watchers) requests.push(...checkWatcher(run, watcher));
  for (const state of history.finalStates)
    requests.push({ index: log.indexAt(state.revision), look: (live) => checkFinalState(run, state, live) });
  replayWithChecks(log, history.incarnations, requests);
  return {
    violations: violations.list,
    counts: Object.fromEntries(violations.counts),
    tolerated: violations.tolerated,
    statistics: statistics.toObject(),
  };
}

function examinationOf(history: History, violations: Violations): Examination {
  const log = new ReplayedLog(history);
  return {
    history,
    log,
    times: new CommitTimes(log.changes.length),
    named: new Map(),
    violations,
    statistics: new Statistics(),
    narrator: new Narrator(history),
  };
}

/** Indexes the operations that others refer to, and keeps no others. */
function nameOperations({ history, named }: Examination): void {
  const wanted = new Set<string>();
  const want = (id: OperationId | undefined): unknown => id !== undefined && wanted.add(idText(id));
  for (const { streams } of history.watchers)
    for (const { start } of streams) if (start.type === 'revision') want(start.list);
  for (const operation of history.operations)
    if (operation.verb === 'list' && operation.paging.type === 'chunk') want(operation.paging.continued);
  for (const operation of history.operations)
    if (wanted.has(idText(operation))) named.set(idText(operation), operation);
}

function checkOperation(run: Examination, operation: Operation): SnapshotRequest[] {
  if (operation.outcome.type !== 'ok') return [];
  if (operation.verb === 'get') checkGet(run, operation);
  if (operation.verb === 'list') {
    checkListRevision(run, operation);
    return [{ index: run.log.indexAt(operation.outcome.revision), look: (state) => checkList(run, operation, state) }];
  }
  if (operation.verb !== 'deleteCollection') return [];
  const window = run.times.windowOf(operation);
  return [{ index: window.from, look: (state) => checkDeletedCollection(run, operation, { window, state }) }];
}
