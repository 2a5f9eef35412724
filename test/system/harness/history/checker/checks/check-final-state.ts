import type { FinalState } from '../../history.ts';
import type { Examination } from '../examination/examination.ts';
import type { LiveState } from '../log/live-state.ts';
import { listedDifference } from '../log/object-match.ts';

/** The final state must be the result of the log. */
export function checkFinalState(
  { log, violations, statistics }: Examination,
  final: FinalState,
  state: LiveState,
): void {
  const report = (text: string, records: unknown[] = []): void =>
    violations.report('final-state', () => ({
      text: `at the end, ${final.source} has of ${final.model} (at ${final.revision}) ${text}`,
      records,
    }));
  statistics.add('final states');
  const newest = log.byModel.get(final.model)?.at(-1);
  if (newest !== undefined && newest.row.revision > final.revision)
    report(`not yet the change ${newest.row.revision}`, [newest.row]);
  const left = new Map(
    state
      .matching(final.model, '', { labels: [], fields: [] })
      .map((change) => [`${change.row.namespace}/${change.row.name}`, change.row]),
  );
  for (const object of final.objects) {
    const key = `${object.namespace}/${object.name}`;
    const row = left.get(key);
    left.delete(key);
    if (row?.new == null) report(`${key} (${object.revision}), which is not there by the log`, [object]);
    else if (row.revision !== object.revision)
      report(`${key} at ${object.revision} instead of ${row.revision}`, [object, row]);
    else {
      const wrong = listedDifference(row.new, object);
      if (wrong !== undefined) report(`another ${key} than ${row.revision}: ${wrong}`, [object, row]);
    }
  }
  for (const [key, row] of left) report(`no ${key} (${row.revision})`, [row]);
}
