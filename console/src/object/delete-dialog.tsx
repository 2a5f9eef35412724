import type { AnyObject, Stored } from '@svc/client';
import { ConfirmDialog } from '../interface/confirm-dialog.tsx';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { texts } from '../texts/texts.ts';

interface DeleteDialogProps {
  model: ModelInfo;
  object: Stored<AnyObject>;
  onClose: () => void;
}

export default function DeleteDialog({ model, object: { metadata }, onClose }: DeleteDialogProps) {
  const question = {
    title: texts.object.removeTitle(metadata.name),
    text: texts.object.removeText,
    action: texts.object.remove,
    act: () => resourceOf(model).remove(metadata, { uid: metadata.uid }),
  };
  return <ConfirmDialog question={question} onClose={onClose} />;
}
