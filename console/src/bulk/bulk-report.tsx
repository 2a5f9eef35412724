import type { ReactNode } from 'react';
import type { RowMeta } from '../server/read-table.ts';
import { texts } from '../texts/texts.ts';
import type { BulkProgress } from './use-bulk-run.ts';

/** More would not be read. */
const namesShown = 10;

/** As much of an object as is shown of it. */
export type ReportedObject = Pick<RowMeta, 'uid' | 'name' | 'namespace'>;

interface BulkReportProps {
  label: string;
  progress: BulkProgress<ReportedObject>;
  running: (done: number, all: number) => string;
  /** What has been reached when it has ended. */
  result: ReactNode;
  failed: (count: number) => string;
}

/** How far work on many objects is, what it has reached, which objects failed, and what the server warned of. */
export function BulkReport({ label, progress, running, result, failed }: BulkReportProps) {
  const { state, all, succeeded, failures, warnings } = progress;
  const done = succeeded + failures.length;
  return (
    <>
      <progress aria-label={label} max={all} value={done} />
      <p role="status">
        {state === 'running' ? running(done, all) : undefined}
        {state === 'stopped' ? `${texts.bulk.stopped(all - done)} ` : undefined}
        {state === 'running' ? undefined : result}
      </p>
      {failures.length === 0 ? undefined : (
        <div role="alert" className="note failure">
          <p>{failed(failures.length)}</p>
          <ul>
            {failures.slice(0, namesShown).map(({ item, message }) => (
              <li key={item.uid}>
                <strong>{fullName(item)}</strong>: {message}
              </li>
            ))}
          </ul>
          {failures.length > namesShown ? <p>{texts.bulk.more(failures.length - namesShown)}</p> : undefined}
        </div>
      )}
      {warnings.size === 0 ? undefined : (
        <div role="alert" className="note warning">
          <p>{texts.bulk.warnings}</p>
          <ul>
            {[...warnings].slice(0, namesShown).map(([text, count]) => (
              <li key={text}>{texts.bulk.warned(text, count)}</li>
            ))}
          </ul>
          {warnings.size > namesShown ? <p>{texts.bulk.more(warnings.size - namesShown)}</p> : undefined}
        </div>
      )}
    </>
  );
}

/** The first of the objects, and how many more there are. */
export function ObjectNames({ rows }: { rows: readonly ReportedObject[] }) {
  return (
    <>
      <ul>
        {rows.slice(0, namesShown).map((row) => (
          <li key={row.uid}>{fullName(row)}</li>
        ))}
      </ul>
      {rows.length > namesShown ? <p>{texts.bulk.more(rows.length - namesShown)}</p> : undefined}
    </>
  );
}

function fullName({ name, namespace = '' }: ReportedObject): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}
