import type { JsonObject } from '@svc/client';
import { useRef, useState } from 'react';
import { YamlEditor } from '../editor/yaml-editor.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import { editableObject } from '../object/editable-text.ts';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import type { RowMeta } from '../server/read-table.ts';
import { withUid } from '../server/with-uid.ts';
import { texts } from '../texts/texts.ts';
import { BulkReport } from './bulk-report.tsx';
import { emptyPair, patchOf, type ChangeForm, type PairChange } from './change-form.ts';
import { useBulkRun } from './use-bulk-run.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './bulk-change.css';

interface BulkChangeProps {
  model: ModelInfo;
  selection: ReadonlyMap<string, RowMeta>;
  onClose: () => void;
}

/** What a dry run has found. */
interface Checked {
  patch: JsonObject;
  changing: RowMeta[];
  same: number;
}

/** One change of many objects: what it would do is asked of the server first. */
export default function BulkChange({ model, selection, onClose }: BulkChangeProps) {
  // What is changed is what was shown, whatever is selected meanwhile.
  const [rows] = useState(() => [...selection.values()]);
  const [form, setForm] = useState<ChangeForm>({ mode: 'pairs', pairs: [emptyPair], patch: '' });
  const [failure, setFailure] = useState<unknown>(undefined);
  const checked = useRef<Checked>({ patch: {}, changing: [], same: 0 });
  const check = useBulkRun<RowMeta>();
  const change = useBulkRun<RowMeta>();
  const isRunning = [check, change].some(({ progress }) => progress?.state === 'running');

  const runCheck = async (): Promise<void> => {
    setFailure(undefined);
    const now: Checked = { patch: {}, changing: [], same: 0 };
    try {
      now.patch = patchOf(form);
    } catch (error) {
      setFailure(error);
      return;
    }
    checked.current = now;
    await check.start(rows, async (row, warn) => {
      if (await wouldChange(model, row, { patch: now.patch, warn })) now.changing.push(row);
      else now.same += 1;
    });
  };
  const runChange = (chosen: readonly RowMeta[]): Promise<void> =>
    change.start(chosen, async (row, warn) => {
      await resourceOf(model).patch(row, withUid(checked.current.patch, row.uid), { warn });
    });
  const { changing, same } = checked.current;
  return (
    <PageDialog
      title={texts.bulk.change.title(rows.length)}
      onClose={onClose}
      isDismissable={!isRunning}
      className="wide"
    >
      {check.progress === undefined ? <Form form={form} onChange={setForm} /> : undefined}
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {check.progress === undefined || change.progress !== undefined ? undefined : (
        <BulkReport
          label={texts.bulk.change.check}
          progress={check.progress}
          running={texts.bulk.change.checking}
          result={`${texts.bulk.change.willChange(changing.length)} ${same === 0 ? '' : texts.bulk.change.same(same)}`}
          failed={texts.bulk.change.refused}
        />
      )}
      {change.progress === undefined ? undefined : (
        <BulkReport
          label={texts.bulk.change.title(rows.length)}
          progress={change.progress}
          running={texts.bulk.progress}
          result={texts.bulk.change.done(change.progress.succeeded)}
          failed={texts.bulk.change.failures}
        />
      )}
      <div className="buttons">
        {isRunning ? (
          <button
            type="button"
            className="button danger"
            onClick={() => {
              check.stop();
              change.stop();
            }}
          >
            {texts.bulk.stop}
          </button>
        ) : (
          <>
            <NextButton
              check={check.progress}
              change={change.progress}
              changing={changing}
              onCheck={() => void runCheck()}
              onChange={(chosen) => void runChange(chosen)}
            />
            {check.progress !== undefined && change.progress === undefined ? (
              <button type="button" className="button plain" onClick={check.reset}>
                {texts.bulk.change.back}
              </button>
            ) : undefined}
            <button type="button" className="button plain" onClick={onClose}>
              {change.progress === undefined ? texts.cancel : texts.close}
            </button>
          </>
        )}
      </div>
    </PageDialog>
  );
}

interface NextButtonProps {
  check: ReturnType<typeof useBulkRun<RowMeta>>['progress'];
  change: ReturnType<typeof useBulkRun<RowMeta>>['progress'];
  changing: readonly RowMeta[];
  onCheck: () => void;
  onChange: (rows: readonly RowMeta[]) => void;
}

/** Check first, then change, then change again what failed. */
function NextButton({ check, change, changing, onCheck, onChange }: NextButtonProps) {
  const button = (text: string, act: () => void) => (
    <button type="button" className="button primary" onClick={act}>
      {text}
    </button>
  );
  if (check === undefined) return button(texts.bulk.change.check, onCheck);
  if (change !== undefined) {
    if (change.failures.length === 0) return undefined;
    return button(texts.bulk.again, () => onChange(change.failures.map(({ item }) => item)));
  }
  if (changing.length === 0) return undefined;
  return button(texts.bulk.change.confirm(changing.length), () => onChange(changing));
}

function Form({ form, onChange }: { form: ChangeForm; onChange: (form: ChangeForm) => void }) {
  const { change } = texts.bulk;
  return (
    <>
      <fieldset className="choice">
        <legend>{change.what}</legend>
        {(['pairs', 'patch'] as const).map((mode) => (
          <label key={mode} className="check">
            <input type="radio" name="mode" checked={form.mode === mode} onChange={() => onChange({ ...form, mode })} />
            {change[mode]}
          </label>
        ))}
      </fieldset>
      {form.mode === 'pairs' ? (
        <Pairs pairs={form.pairs} onChange={(pairs) => onChange({ ...form, pairs })} />
      ) : (
        <>
          <p className="facts">{change.patchHint}</p>
          <YamlEditor label={change.patchLabel} value={form.patch} onChange={(patch) => onChange({ ...form, patch })} />
        </>
      )}
    </>
  );
}

function Pairs({
  pairs,
  onChange,
}: {
  pairs: readonly PairChange[];
  onChange: (pairs: readonly PairChange[]) => void;
}) {
  const { change } = texts.bulk;
  return (
    <>
      {pairs.map((pair, at) => {
        const set = (next: Partial<PairChange>): void => onChange(pairs.with(at, { ...pair, ...next }));
        return (
          // oxlint-disable-next-line react/no-array-index-key -- A line has nothing else that stays.
          <div key={at} className="pair">
            <label>
              {change.place}
              <select
                value={pair.place}
                onChange={(event) => set({ place: event.target.value as PairChange['place'] })}
              >
                <option value="labels">{change.places.labels}</option>
                <option value="annotations">{change.places.annotations}</option>
              </select>
            </label>
            <label>
              {change.action}
              <select
                value={pair.action}
                onChange={(event) => set({ action: event.target.value as PairChange['action'] })}
              >
                <option value="set">{change.actions.set}</option>
                <option value="remove">{change.actions.remove}</option>
              </select>
            </label>
            <label className="text">
              {change.key}
              <input value={pair.key} onChange={(event) => set({ key: event.target.value })} />
            </label>
            {pair.action === 'remove' ? undefined : (
              <label className="text">
                {change.value}
                <input value={pair.value} onChange={(event) => set({ value: event.target.value })} />
              </label>
            )}
            {pairs.length === 1 ? undefined : (
              <button
                type="button"
                className="button plain"
                aria-label={change.drop(pair.key)}
                onClick={() => onChange(pairs.toSpliced(at, 1))}
              >
                ×
              </button>
            )}
          </div>
        );
      })}
      <button type="button" className="button plain" onClick={() => onChange([...pairs, emptyPair])}>
        {change.add}
      </button>
    </>
  );
}

async function wouldChange(
  model: ModelInfo,
  row: RowMeta,
  { patch, warn }: { patch: JsonObject; warn: (text: string) => void },
): Promise<boolean> {
  const resource = resourceOf(model);
  const before = await resource.get(row);
  const after = await resource.patch(row, withUid(patch, row.uid), { dryRun: true, warn });
  return JSON.stringify(editableObject(model, before)) !== JSON.stringify(editableObject(model, after));
}
