import { isStatusError } from '@svc/client';
import { useRef, useState } from 'react';
import { PageDialog } from '../interface/page-dialog.tsx';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import type { RowMeta } from '../server/read-table.ts';
import { texts } from '../texts/texts.ts';
import { ObjectNames } from './bulk-report.tsx';
import { BulkRunDialog } from './bulk-run-dialog.tsx';
import { useBulkRun } from './use-bulk-run.ts';

export interface BulkDeleteProps {
  model: ModelInfo;
  selection: ReadonlyMap<string, RowMeta>;
  onDeleted: (uids: ReadonlySet<string>) => void;
  onClose: () => void;
}

/** Asks, deletes one object after the other, and can be stopped. */
export default function BulkDelete({ model, selection, onDeleted, onClose }: BulkDeleteProps) {
  // What is deleted is what was shown, whatever is selected meanwhile.
  const [rows] = useState(() => [...selection.values()]);
  const { progress, start, stop } = useBulkRun<RowMeta>();
  const counts = useRef<Record<Outcome, number>>(noOutcomes);
  const run = async (chosen: readonly RowMeta[]): Promise<void> => {
    const deleted = new Set<string>();
    counts.current = { ...noOutcomes };
    await start(chosen, async (row, warn) => {
      counts.current[await remove(model, row, warn)] += 1;
      deleted.add(row.uid);
    });
    onDeleted(deleted);
  };
  const title = texts.bulk.title(rows.length);
  if (progress === undefined)
    return (
      <PageDialog title={title} onClose={onClose}>
        <ObjectNames rows={rows} />
        <div className="buttons">
          <button type="button" className="button danger" onClick={() => void run(rows)}>
            {texts.bulk.confirm}
          </button>
          <button type="button" className="button plain" onClick={onClose}>
            {texts.cancel}
          </button>
        </div>
      </PageDialog>
    );
  return (
    <BulkRunDialog
      title={title}
      progress={progress}
      result={resultText(progress.succeeded, counts.current)}
      failed={texts.bulk.failures}
      kind="danger"
      onStop={stop}
      onAgain={(chosen) => void run(chosen)}
      onClose={onClose}
    />
  );
}

/** `waiting`: for finalizers. `gone`: somebody else was sooner. */
type Outcome = 'deleted' | 'waiting' | 'gone';

const noOutcomes: Readonly<Record<Outcome, number>> = { deleted: 0, waiting: 0, gone: 0 };

async function remove(model: ModelInfo, row: RowMeta, warn: (text: string) => void): Promise<Outcome> {
  try {
    const { object } = await resourceOf(model).remove(row, { uid: row.uid, warn });
    return object === undefined ? 'deleted' : 'waiting';
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return 'gone';
    throw error;
  }
}

function resultText(succeeded: number, { waiting, gone }: Readonly<Record<Outcome, number>>): string {
  const { bulk } = texts;
  return [
    bulk.done(succeeded - waiting - gone),
    ...(waiting === 0 ? [] : [bulk.waiting(waiting)]),
    ...(gone === 0 ? [] : [bulk.gone(gone)]),
  ].join(' ');
}
