import { useState } from 'react';
import { PageDialog } from '../interface/page-dialog.tsx';
import { RecordForm, type RecordFormProps } from './record-form.tsx';

interface FormDialogProps extends Pick<RecordFormProps, 'submit' | 'fields' | 'onSubmit'> {
  title: string;
  intro?: string;
  onClose: () => void;
  /** After `onSubmit`. Default: `onClose`. */
  onDone?: () => void;
}

/** A form over the page. What was typed is lost only by Cancel. */
export function FormDialog({ title, intro, onClose, onDone = onClose, ...form }: FormDialogProps) {
  const [isChanged, setChanged] = useState(false);
  return (
    <PageDialog title={title} onClose={onClose} isDismissable={!isChanged}>
      {intro === undefined ? undefined : <p>{intro}</p>}
      <RecordForm {...form} onDone={onDone} onChange={setChanged} onCancel={onClose} takesFocus />
    </PageDialog>
  );
}
