import type { WatcherRecord, WatchStreamRecord } from '../../history.ts';
import { StreamCheck, watchingOf, type Watching } from './check-stream.ts';
import { idText, type Examination } from '../examination/examination.ts';
import type { LiveState, SnapshotRequest } from '../log/live-state.ts';
import { compactedBy } from '../log/model-life.ts';
import { difference } from '../log/object-match.ts';

/** A watcher must get everything over all its streams. Returns the positions at which to check the log's state. */
export function checkWatcher(run: Examination, watcher: WatcherRecord): SnapshotRequest[] {
  const watching = watchingOf(run, watcher);
  const requests: SnapshotRequest[] = [];
  let position: number | undefined;
  for (const stream of watcher.streams) {
    const check = new StreamCheck(run, watching, stream);
    run.statistics.add(`watches ended ${stream.ended.type}`);
    checkStart(run, check, { watcher, stream, position });
    for (const event of stream.events) check.take(event);
    if (check.snapshot !== undefined) {
      const { snapshot } = check;
      requests.push({
        index: run.log.indexAt(snapshot),
        look: (state) => checkObjects(state, check, { watching, snapshot }),
      });
    } else if (!check.hasBegun) checkUnendedObjects(run, check, watching);
    checkEnd(run, check, { watcher, stream });
    if (check.hasBegun) position = check.position;
  }
  return requests;
}

function checkStart(
  { named, statistics }: Examination,
  check: StreamCheck,
  { watcher, stream, position }: { watcher: WatcherRecord; stream: WatchStreamRecord; position: number | undefined },
): void {
  const { start } = stream;
  if (start.type === 'objects') return;
  if (start.list === undefined) {
    statistics.add('watches resumed');
    if (position !== undefined && start.revision > position)
      check.report('recording', `nothing after ${position}, and yet it goes on after ${start.revision}`, [
        stream.start,
      ]);
    return;
  }
  statistics.add('watches begun from a list');
  const list = named.get(idText(start.list));
  const isFits =
    list?.verb === 'list' &&
    list.outcome.type === 'ok' &&
    list.outcome.revision === start.revision &&
    list.model === watcher.model;
  if (!isFits)
    check.report('recording', `to begin at ${start.revision}, which is not the revision of its list`, [
      stream.start,
      list,
    ]);
}

function checkEnd(
  run: Examination,
  check: StreamCheck,
  { watcher, stream }: { watcher: WatcherRecord; stream: WatchStreamRecord },
): void {
  const { history, log, times } = run;
  const { ended, start } = stream;
  if (ended.type === 'live') {
    if (check.hasBegun) check.demand(log.last, 'watch-behind');
    else check.report('watch-behind', 'not even the end of the objects it began with', []);
  }
  if (ended.type === 'expired' && check.hasBegun) {
    const replaced = history.incarnations.some(
      ({ model, replaces }) =>
        model === watcher.model && check.position < replaces && times.earliestOf(log.indexAt(replaces)).at <= ended.at,
    );
    if (!replaced && check.position >= compactedBy(history, ended.at)) {
      check.report(
        'watch-expired',
        `410 ${ended.message ?? ''} at ${check.position}, though history was kept from ${compactedBy(history, ended.at)} on`,
        [ended],
      );
    }
  }
  if (ended.type === 'refused' && ended.tooLarge === true && start.type === 'revision') {
    const seen = times.latestOf(log.indexAt(start.revision));
    if (start.revision <= log.last && seen.at < stream.opened)
      check.report(
        'watch-expired',
        `that ${start.revision} lies in the future, though it had been seen by ${run.narrator.bound(seen)}`,
        [ended, seen.source],
      );
  }
}

/** The initial objects must be the selection of the snapshot, each once. */
function checkObjects(
  state: LiveState,
  check: StreamCheck,
  { watching: { watcher }, snapshot }: { watching: Watching; snapshot: number },
): void {
  const expected = new Map(
    state
      .matching(watcher.model, watcher.namespace, watcher.selector)
      .map((change) => [`${change.row.namespace}/${change.row.name}`, change.row]),
  );
  for (const event of check.initial) {
    const { object } = event;
    const key = `${object.namespace}/${object.name}`;
    const row = expected.get(key);
    expected.delete(key);
    const wrong =
      row?.new == null
        ? 'which is not there, or told already'
        : row.revision === object.revision
          ? difference(row.new, object)
          : `instead of ${row.revision}`;
    if (event.type !== 'ADDED' || wrong !== undefined)
      check.report(
        'watch-start',
        `${event.type} ${key} at ${object.revision} among the objects at ${snapshot}: ${wrong ?? 'which is no ADDED'}`,
        [event, row],
      );
  }
  for (const [key, row] of expected)
    check.report('watch-start', `nothing of ${key} (${row.revision}) among the objects at ${snapshot}`, [row]);
}

/** If a stream ended during its initial objects, its snapshot is unknown: each must be a state, and match. */
function checkUnendedObjects({ log }: Examination, check: StreamCheck, { watcher, matches }: Watching): void {
  for (const event of check.initial) {
    const { object } = event;
    const row = log.changes[log.indexAt(object.revision)]?.row;
    const isThere =
      row !== undefined &&
      row.type !== 'D' &&
      row.revision === object.revision &&
      row.namespace === object.namespace &&
      row.name === object.name &&
      row.new !== null;
    const wrong = isThere ? difference(row.new!, object) : 'no such state';
    const isSelected =
      isThere && matches(row, row.new!) && (watcher.namespace === '' || watcher.namespace === row.namespace);
    if (wrong !== undefined || !isSelected)
      check.report(
        'watch-start',
        `${event.type} ${object.name} at ${object.revision}: ${wrong ?? 'not in its selection'}`,
        [event],
      );
  }
}
