import {
  edit as beginEdit,
  type AnyObject,
  type Conflict,
  type JsonObject,
  type JsonValue,
  type Stored,
} from '@svc/client';
import { useEffect, useMemo, useState } from 'react';
import { toYaml } from '../editor/yaml-text.ts';
import type { FieldHints } from '../form/field-hints.ts';
import { ActionButton } from '../interface/action-button.tsx';
import { lazy } from '../interface/lazy.tsx';
import { useShortcut } from '../interface/shortcuts.ts';
import { useUnsaved } from '../interface/unsaved.ts';
import type { ModelFacts } from '../list/model-facts.ts';
import { missingRule } from '../server/missing-rule.ts';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import type { ModelSchema } from '../server/open-api-schema.ts';
import { usePermissions } from '../server/permissions.ts';
import { texts } from '../texts/texts.ts';
import { draftOf, isSameDraft, type EditorDraft } from './editor-draft.ts';
import { DraftEditor } from './draft-editor.tsx';
import { DraftProblems } from './draft-problems.tsx';
import { editableObject, readEditable } from './editable-text.ts';
import type { EditorView } from './editor-tabs.tsx';
import { causesOf, draftNote, useServerCheck } from './use-server-check.ts';
import { useWarnings } from '../interface/use-warnings.ts';

const Difference = lazy(async () => ({ default: (await import('../editor/difference.tsx')).Difference }));

interface EditPanelProps {
  model: ModelInfo;
  facts: ModelFacts;
  /** Undefined until it is known. */
  schema: ModelSchema | 'none' | undefined;
  hints: FieldHints | undefined;
  view: EditorView;
  /** The object as it was when the editor was opened. */
  first: Stored<AnyObject>;
  /** As it is now; undefined when it is gone. */
  newest: Stored<AnyObject> | undefined;
}

/** An object as a form and as YAML: checked while it is edited, edited while others edit, compared before it is saved, merged by field. */
export default function EditPanel({ facts: { definition, isKnown }, ...props }: EditPanelProps) {
  // The definition says how lists merge.
  const model = useMemo(
    () => (definition === undefined ? props.model : { ...props.model, definition }),
    [props.model, definition],
  );
  return isKnown ? <Editor {...props} model={model} /> : <p role="status">{texts.loading}</p>;
}

const readOnly = ['metadata.name', 'metadata.generateName', 'metadata.namespace'];

function Editor({ model, schema, hints, view, first, newest }: Omit<EditPanelProps, 'facts'>) {
  const [edit] = useState(() => beginEdit(resourceOf(model, first.metadata.namespace), first));
  const [base, setBase] = useState(() => draftOf(editableObject(model, first)));
  const [draft, setDraft] = useState(base);
  const [conflicts, setConflicts] = useState<readonly Conflict[]>([]);
  const [note, setNote] = useState('');
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isReview, setReview] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [unfinished, setUnfinished] = useState(0);
  // Another form, without the texts that were not yet values.
  const [attempts, setAttempts] = useState(0);
  const { warnings, noteWarnings, forgetWarnings } = useWarnings();
  const { name, namespace = '' } = first.metadata;
  const may = usePermissions(namespace);
  const missing = may({ verb: 'update', model, name })
    ? undefined
    : missingRule({ verb: 'update', model, namespace, name });
  const isChanged = useMemo(() => !isSameDraft(draft, base), [draft, base]);
  useUnsaved(isChanged || unfinished > 0);

  const isWaiting = !isChanged || isBusy || unfinished > 0 || conflicts.length > 0 || missing !== undefined;
  const check = useServerCheck(isWaiting ? undefined : draft, (signal) => {
    const object = readEditable(model, draft, edit.base);
    return noteWarnings((warn) => resourceOf(model, namespace).update(object, { dryRun: true, signal, warn }));
  });

  /** Shows what the edit has now. */
  const show = (): void => {
    setBase(withObject(editableObject(model, edit.base)));
    setDraft(withObject(editableObject(model, edit.draft)));
    setConflicts([...edit.conflicts]);
  };
  const isOutdated = newest !== undefined && newest.metadata.resourceVersion !== edit.base.metadata.resourceVersion;
  // Who has typed nothing sees what others save.
  useEffect(() => {
    if (!isOutdated || isChanged || isBusy) return;
    edit.draft = structuredClone(edit.base);
    edit.rebase(newest);
    show();
  });

  const change = (next: EditorDraft): void => {
    setDraft(next);
    setNote('');
    setFailure(undefined);
  };
  const attempt = async (work: () => void | Promise<void>): Promise<void> => {
    setFailure(undefined);
    setNote('');
    setBusy(true);
    try {
      edit.draft = readEditable(model, draft, edit.base);
      await work();
    } catch (error) {
      if (edit.conflicts.length > 0) show();
      else setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  const merge = (): Promise<void> =>
    attempt(() => {
      edit.rebase(newest!);
      show();
      setNote(edit.conflicts.length === 0 ? texts.editor.merged : '');
    });
  const resolve = (side: 'mine' | 'theirs', path: string): Promise<void> =>
    attempt(() => {
      edit.resolve(side, path);
      show();
    });
  const save = (): Promise<void> =>
    attempt(async () => {
      await noteWarnings((warn) => edit.save({ warn }));
      show();
      setReview(false);
      setNote(texts.editor.saved);
    });
  const discard = (): void => {
    edit.resolve('mine');
    edit.draft = structuredClone(edit.base);
    show();
    setAttempts(attempts + 1);
    forgetWarnings();
    setFailure(undefined);
    setNote('');
    setReview(false);
  };
  const isOff = !isChanged || isBusy || unfinished > 0 || conflicts.length > 0;
  useShortcut('Control+s', () => {
    if (!isOff && missing === undefined) void save();
  });

  return (
    <div className="edit-panel">
      <div className="buttons">
        <ActionButton kind="primary" onAction={() => void save()} isDisabled={isOff} missingRule={missing}>
          {texts.editor.save}
        </ActionButton>
        <ActionButton onAction={() => setReview(!isReview)} isDisabled={!isChanged && !isReview}>
          {isReview ? texts.editor.back : texts.editor.review}
        </ActionButton>
        <ActionButton onAction={discard} isDisabled={!isChanged && unfinished === 0}>
          {texts.editor.discard}
        </ActionButton>
        <span role="status">{note === '' ? draftNote({ isChanged, unfinished, check }) : note}</span>
      </div>
      {isOutdated && isChanged ? (
        <div role="alert" className="note warning">
          <p>{texts.editor.newer}</p>
          <ActionButton onAction={() => void merge()}>{texts.editor.merge}</ActionButton>
        </div>
      ) : undefined}
      {conflicts.length === 0 ? undefined : (
        <Conflicts conflicts={conflicts} onResolve={(side, path) => void resolve(side, path)} />
      )}
      <DraftProblems failure={failure} warnings={warnings} />
      {isReview ? <Difference label={texts.editor.changes} before={base.text} after={draft.text} /> : undefined}
      <div hidden={isReview}>
        <DraftEditor
          attempt={attempts}
          model={model}
          schema={schema}
          hints={hints}
          view={view}
          label={texts.editor.label(name)}
          draft={draft}
          onChange={change}
          causes={failure === undefined ? check.causes : causesOf(failure)}
          readOnly={readOnly}
          onUnfinished={setUnfinished}
        />
      </div>
    </div>
  );
}

/** A draft of this object; the one before if it says the same, so that nothing is rendered again. */
function withObject(object: JsonObject): (before: EditorDraft) => EditorDraft {
  const next = draftOf(object);
  return (before) => (isSameDraft(before, next) ? before : next);
}

interface ConflictsProps {
  conflicts: readonly Conflict[];
  onResolve: (side: 'mine' | 'theirs', path: string) => void;
}

function Conflicts({ conflicts, onResolve }: ConflictsProps) {
  return (
    <div role="alert" className="note failure">
      <p>{texts.editor.conflicts}</p>
      <ul className="conflicts">
        {conflicts.map(({ path, mine, theirs }) => (
          <li key={path}>
            <code>{path}</code>
            <div className="sides">
              {(
                [
                  ['mine', mine],
                  ['theirs', theirs],
                ] as const
              ).map(([side, value]) => (
                <div key={side}>
                  <pre>{valueText(value)}</pre>
                  <button
                    type="button"
                    className="button plain"
                    aria-label={`${texts.editor[side]}: ${path}`}
                    onClick={() => onResolve(side, path)}
                  >
                    {texts.editor[side]}
                  </button>
                </div>
              ))}
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}

function valueText(value: JsonValue | undefined): string {
  return value === undefined ? texts.editor.absent : toYaml(value).trimEnd();
}
