import { isStatusError } from '@svc/client';
import { useEffect, useRef, useState } from 'react';
import { messageOf } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import type { RowMeta } from '../server/read-table.ts';
import { texts } from '../texts/texts.ts';
import type { SelectedRows } from './selection.ts';

export interface BulkDeleteProps {
  model: ModelInfo;
  selection: SelectedRows;
  onDeleted: (uids: ReadonlySet<string>) => void;
  onClose: () => void;
}

interface Progress {
  deleted: Set<string>;
  failures: { row: RowMeta; message: string }[];
  state: 'running' | 'stopped' | 'done';
}

const concurrent = 4;
const namesShown = 10;

/** Asks, deletes one object after the other, and can be stopped. */
export default function BulkDelete({ model, selection, onDeleted, onClose }: BulkDeleteProps) {
  // What is deleted is what was shown, whatever is selected meanwhile.
  const [rows] = useState(() => [...selection.values()]);
  const [progress, setProgress] = useState<Progress | undefined>(undefined);
  const end = useRef(new AbortController());
  useEffect(() => () => end.current.abort(), []);

  const run = async (): Promise<void> => {
    end.current = new AbortController();
    const { signal } = end.current;
    const now: Progress = { deleted: new Set(), failures: [], state: 'running' };
    const show = (): void => setProgress({ ...now });
    show();
    await removeAll(model, rows, {
      signal,
      onDeleted: (uid) => {
        now.deleted.add(uid);
        show();
      },
      onFailure: (row, message) => {
        now.failures.push({ row, message });
        show();
      },
    });
    now.state = signal.aborted ? 'stopped' : 'done';
    show();
    onDeleted(now.deleted);
  };

  const title = texts.bulk.title(rows.length);
  if (progress === undefined)
    return (
      <PageDialog title={title} onClose={onClose}>
        <Names rows={rows} />
        <div className="buttons">
          <button type="button" className="button danger" onClick={() => void run()}>
            {texts.bulk.confirm}
          </button>
          <button type="button" className="button plain" onClick={onClose}>
            {texts.cancel}
          </button>
        </div>
      </PageDialog>
    );
  const done = progress.deleted.size + progress.failures.length;
  return (
    <PageDialog title={title} onClose={onClose} isDismissable={progress.state !== 'running'}>
      <progress aria-label={title} max={rows.length} value={done} />
      <p role="status">
        {progress.state === 'running' ? texts.bulk.progress(done, rows.length) : undefined}
        {progress.state === 'stopped' ? `${texts.bulk.stopped} ` : undefined}
        {progress.state === 'running' ? undefined : texts.bulk.done(progress.deleted.size)}
      </p>
      {progress.failures.length === 0 ? undefined : (
        <div role="alert" className="note failure">
          <p>{texts.bulk.failures(progress.failures.length)}</p>
          <ul>
            {progress.failures.slice(0, namesShown).map(({ row, message }) => (
              <li key={row.uid}>
                <strong>{row.name}</strong>: {message}
              </li>
            ))}
          </ul>
        </div>
      )}
      <div className="buttons">
        {progress.state === 'running' ? (
          <button type="button" className="button danger" onClick={() => end.current.abort()}>
            {texts.bulk.stop}
          </button>
        ) : (
          <button type="button" className="button plain" onClick={onClose}>
            {texts.close}
          </button>
        )}
      </div>
    </PageDialog>
  );
}

function Names({ rows }: { rows: readonly RowMeta[] }) {
  return (
    <>
      <ul>
        {rows.slice(0, namesShown).map(({ uid, name, namespace }) => (
          <li key={uid}>{namespace === undefined ? name : `${namespace}/${name}`}</li>
        ))}
      </ul>
      {rows.length > namesShown ? <p>{texts.bulk.more(rows.length - namesShown)}</p> : undefined}
    </>
  );
}

interface RemoveAllOptions {
  signal: AbortSignal;
  onDeleted: (uid: string) => void;
  onFailure: (row: RowMeta, message: string) => void;
}

/** A few at a time. After the signal no further one begins; those that have begun end. */
async function removeAll(model: ModelInfo, rows: readonly RowMeta[], options: RemoveAllOptions): Promise<void> {
  const { signal, onDeleted, onFailure } = options;
  const waiting = rows.values();
  const work = async (): Promise<void> => {
    for (const row of waiting) {
      if (signal.aborted) return;
      try {
        await resourceOf(model).remove(row, { uid: row.uid });
        onDeleted(row.uid);
      } catch (error) {
        if (isStatusError(error, 'NotFound')) onDeleted(row.uid);
        else onFailure(row, messageOf(error));
      }
    }
  };
  await Promise.all(Array.from({ length: concurrent }, work));
}
