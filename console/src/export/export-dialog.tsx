import { useEffect, useRef, useState } from 'react';
import { FailureNote } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import { modelName, type ModelInfo } from '../server/model-info.ts';
import type { RowMeta } from '../server/read-table.ts';
import { texts } from '../texts/texts.ts';
import { exportFile, saveFile } from './export-file.ts';
import {
  chosenObjects,
  exportedText,
  filteredObjects,
  type ExportFormat,
  type FilteredList,
} from './exported-objects.ts';

interface ExportDialogProps {
  model: ModelInfo;
  list: FilteredList;
  selection: ReadonlyMap<string, RowMeta>;
  onClose: () => void;
}

type State = { name: 'asking' } | { name: 'running'; count: number } | { name: 'ended'; note: string };

/** Objects of a list as a file. */
export default function ExportDialog({ model, list, selection, onClose }: ExportDialogProps) {
  const [rows] = useState(() => [...selection.values()]);
  const [isSelection, setSelection] = useState(rows.length > 0);
  const [form, setForm] = useState<ExportFormat>({ format: 'yaml', isStripped: true });
  const [state, setState] = useState<State>({ name: 'asking' });
  const [failure, setFailure] = useState<unknown>(undefined);
  const end = useRef(new AbortController());
  useEffect(() => () => end.current.abort(), []);

  const run = async (): Promise<void> => {
    end.current = new AbortController();
    const { signal } = end.current;
    const options = { isStripped: form.isStripped, signal };
    setFailure(undefined);
    setState({ name: 'running', count: 0 });
    try {
      const { file, count } = await exportFile({
        chunks: isSelection ? chosenObjects(model, rows, options) : filteredObjects(model, list, options),
        textOf: (object) => exportedText(model, object, form),
        onProgress: (read) => {
          signal.throwIfAborted();
          setState({ name: 'running', count: read });
        },
      });
      const name = `${modelName(model)}.${form.format}`;
      saveFile(file, name);
      setState({ name: 'ended', note: texts.exported.done(count, name) });
    } catch (error) {
      if (!signal.aborted) setFailure(error);
      setState({ name: 'ended', note: signal.aborted ? texts.exported.stopped : '' });
    }
  };
  const isRunning = state.name === 'running';
  return (
    <PageDialog title={texts.exported.title} onClose={onClose} isDismissable={!isRunning}>
      <Form
        form={form}
        onChange={setForm}
        selected={rows.length}
        isSelection={isSelection}
        onSelection={setSelection}
        isDisabled={isRunning}
      />
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      <p role="status">
        {state.name === 'running' ? texts.exported.progress(state.count) : undefined}
        {state.name === 'ended' ? state.note : undefined}
      </p>
      <div className="buttons">
        {isRunning ? (
          <button type="button" className="button danger" onClick={() => end.current.abort()}>
            {texts.exported.stop}
          </button>
        ) : (
          <>
            <button type="button" className="button primary" onClick={() => void run()}>
              {texts.exported.start}
            </button>
            <button type="button" className="button plain" onClick={onClose}>
              {texts.close}
            </button>
          </>
        )}
      </div>
    </PageDialog>
  );
}

interface FormProps {
  form: ExportFormat;
  onChange: (form: ExportFormat) => void;
  selected: number;
  isSelection: boolean;
  onSelection: (isSelection: boolean) => void;
  isDisabled: boolean;
}

function Form({ form, onChange, selected, isSelection, onSelection, isDisabled }: FormProps) {
  const choice = (name: string, text: string, isChosen: boolean, choose: () => void) => (
    <label className="check">
      <input type="radio" name={name} checked={isChosen} disabled={isDisabled} onChange={choose} />
      {text}
    </label>
  );
  return (
    <>
      {selected === 0 ? undefined : (
        <fieldset className="choice">
          <legend>{texts.exported.which}</legend>
          {choice('which', texts.exported.selected(selected), isSelection, () => onSelection(true))}
          {choice('which', texts.exported.all, !isSelection, () => onSelection(false))}
        </fieldset>
      )}
      <fieldset className="choice">
        <legend>{texts.exported.format}</legend>
        {choice('format', texts.exported.formats.yaml, form.format === 'yaml', () =>
          onChange({ ...form, format: 'yaml' }),
        )}
        {choice('format', texts.exported.formats.jsonl, form.format === 'jsonl', () =>
          onChange({ ...form, format: 'jsonl' }),
        )}
      </fieldset>
      <label className="check">
        <input
          type="checkbox"
          checked={form.isStripped}
          disabled={isDisabled}
          onChange={(event) => onChange({ ...form, isStripped: event.target.checked })}
        />
        {texts.exported.strip}
      </label>
      <p className="facts">{texts.exported.stripHint}</p>
    </>
  );
}
