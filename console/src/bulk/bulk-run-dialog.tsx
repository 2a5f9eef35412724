import type { ReactNode } from 'react';
import { PageDialog } from '../interface/page-dialog.tsx';
import { texts } from '../texts/texts.ts';
import { BulkReport, type ReportedObject } from './bulk-report.tsx';
import type { BulkProgress } from './use-bulk-run.ts';

interface BulkRunDialogProps<Item extends ReportedObject> {
  title: string;
  progress: BulkProgress<Item>;
  /** What has been reached when it has ended. */
  result: ReactNode;
  failed: (count: number) => string;
  /** Of the button that tries again what failed. */
  kind: 'primary' | 'danger';
  onStop: () => void;
  onAgain: (items: readonly Item[]) => void;
  onClose: () => void;
}

/** Work on many objects that has begun: it can be stopped, and tried again for those that failed. */
export function BulkRunDialog<Item extends ReportedObject>(props: BulkRunDialogProps<Item>) {
  const { title, progress, result, failed, kind, onStop, onAgain, onClose } = props;
  const { state, failures } = progress;
  return (
    <PageDialog title={title} onClose={onClose} isDismissable={state !== 'running'}>
      <BulkReport label={title} progress={progress} running={texts.bulk.progress} result={result} failed={failed} />
      <div className="buttons">
        {state === 'running' ? (
          <button type="button" className="button danger" onClick={onStop}>
            {texts.bulk.stop}
          </button>
        ) : (
          <>
            {failures.length === 0 ? undefined : (
              <button
                type="button"
                className={`button ${kind}`}
                onClick={() => onAgain(failures.map(({ item }) => item))}
              >
                {texts.bulk.again}
              </button>
            )}
            <button type="button" className="button plain" onClick={onClose}>
              {texts.close}
            </button>
          </>
        )}
      </div>
    </PageDialog>
  );
}
