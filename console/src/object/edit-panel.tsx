import {
  edit as beginEdit,
  StatusError,
  type AnyObject,
  type Conflict,
  type JsonValue,
  type Stored,
} from '@svc/client';
import { useEffect, useState } from 'react';
import { Difference } from '../editor/difference.tsx';
import { YamlEditor } from '../editor/yaml-editor.tsx';
import { toYaml } from '../editor/yaml-text.ts';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useShortcut } from '../interface/shortcuts.ts';
import { useUnsaved } from '../interface/unsaved.ts';
import { useModelFacts } from '../list/model-facts.ts';
import { missingRule } from '../server/missing-rule.ts';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { usePermissions } from '../server/permissions.ts';
import { warnings } from '../server/server.ts';
import { texts } from '../texts/texts.ts';
import { editableText, readEditableText } from './editable-text.ts';

interface EditPanelProps {
  model: ModelInfo;
  /** The object as it was when the editor was opened. */
  first: Stored<AnyObject>;
  /** As it is now; undefined when it is gone. */
  newest: Stored<AnyObject> | undefined;
}

/** The YAML of an object: edited while others edit, compared before it is saved, merged by field. */
export default function EditPanel(props: EditPanelProps) {
  const { definition, isKnown } = useModelFacts(props.model);
  // The definition says how lists merge.
  const model = definition === undefined ? props.model : { ...props.model, definition };
  return isKnown ? <Editor {...props} model={model} /> : <p role="status">{texts.loading}</p>;
}

function Editor({ model, first, newest }: EditPanelProps) {
  const [edit] = useState(() => beginEdit(resourceOf(model, first.metadata.namespace), first));
  const [base, setBase] = useState(() => editableText(model, first));
  const [text, setText] = useState(base);
  const [conflicts, setConflicts] = useState<readonly Conflict[]>([]);
  const [note, setNote] = useState('');
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isReview, setReview] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const warned = useObservable(warnings);
  const { name, namespace = '' } = first.metadata;
  const may = usePermissions(namespace);
  const missing = may({ verb: 'update', model, name })
    ? undefined
    : missingRule({ verb: 'update', model, namespace, name });
  const isChanged = text !== base;
  useUnsaved(isChanged);

  /** Shows what the edit has now. */
  const show = (): void => {
    setBase(editableText(model, edit.base));
    setText(editableText(model, edit.draft));
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

  const attempt = async (work: () => void | Promise<void>): Promise<void> => {
    setFailure(undefined);
    setNote('');
    setBusy(true);
    try {
      edit.draft = readEditableText(model, text, edit.base);
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
      warnings.set([]);
      await edit.save();
      show();
      setReview(false);
      setNote(texts.editor.saved);
    });
  const discard = (): void => {
    edit.resolve('mine');
    edit.draft = structuredClone(edit.base);
    show();
    setFailure(undefined);
    setNote('');
    setReview(false);
  };
  const isOff = !isChanged || isBusy || conflicts.length > 0;
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
        <ActionButton onAction={discard} isDisabled={!isChanged}>
          {texts.editor.discard}
        </ActionButton>
        <span role="status">{note === '' && !isChanged ? texts.editor.unchanged : note}</span>
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
      {failure === undefined ? undefined : (
        <FailureNote failure={failure} title={failure instanceof StatusError ? texts.editor.causes : texts.failed} />
      )}
      {warned.map((warning) => (
        <p key={warning} role="alert" className="note warning">
          {warning}
        </p>
      ))}
      {isReview ? <Difference label={texts.editor.changes} before={base} after={text} /> : undefined}
      <div hidden={isReview}>
        <YamlEditor label={texts.editor.label(name)} value={text} onChange={setText} />
      </div>
    </div>
  );
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
