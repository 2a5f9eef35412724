import type { AnyObject, Stored } from '@svc/client';
import { useState } from 'react';
import { FailureNote } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { texts } from '../texts/texts.ts';

interface DeleteDialogProps {
  model: ModelInfo;
  object: Stored<AnyObject>;
  onClose: () => void;
}

export default function DeleteDialog({ model, object, onClose }: DeleteDialogProps) {
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const { name, uid } = object.metadata;
  const remove = async (): Promise<void> => {
    setBusy(true);
    try {
      await resourceOf(model).remove(object.metadata, { uid });
      onClose();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  return (
    <PageDialog title={texts.object.removeTitle(name)} onClose={onClose}>
      <p>{texts.object.removeText}</p>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      <div className="buttons">
        <button type="button" className="button danger" aria-disabled={isBusy} onClick={() => void remove()}>
          {texts.object.remove}
        </button>
        <button type="button" className="button plain" onClick={onClose}>
          {texts.cancel}
        </button>
      </div>
    </PageDialog>
  );
}
