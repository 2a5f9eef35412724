import { useState } from 'react';
import { Link } from 'wouter';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import type { ListView } from '../list/list-view.ts';
import { missingRule } from '../server/missing-rule.ts';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { usePermissions } from '../server/permissions.ts';
import { listLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';
import { savedViewInfo, savedViews, saveView, viewLink, viewsOf, type SavedView } from './saved-view.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './views.css';

interface ViewsDialogProps {
  model: ModelInfo;
  view: ListView;
  onClose: () => void;
}

/** The views of a model that people and plugins share, and what is shown as another one. */
export default function ViewsDialog({ model, view, onClose }: ViewsDialogProps) {
  const read = useObservable(savedViews);
  const views = viewsOf(model, read.value);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [note, setNote] = useState('');
  const attempt = async (work: () => Promise<string>): Promise<void> => {
    setFailure(undefined);
    try {
      setNote(await work());
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <PageDialog title={texts.views.title(model.kind)} onClose={onClose}>
      <ul className="views">
        <li>
          <Link href={listLink(model)} onClick={onClose}>
            {texts.views.all}
          </Link>
        </li>
        {views.map((each) => (
          <li key={each.metadata.uid}>
            <SavedViewRow
              model={model}
              view={each}
              onOpen={onClose}
              onRemove={() =>
                void attempt(async () => {
                  await resourceOf(savedViewInfo).remove(each.metadata, { uid: each.metadata.uid });
                  return texts.views.removed(each.spec.title);
                })
              }
            />
          </li>
        ))}
      </ul>
      {read.value !== undefined && views.length === 0 ? <p>{texts.views.none}</p> : undefined}
      {read.value === undefined && read.failure === undefined ? <p role="status">{texts.loading}</p> : undefined}
      {read.failure === undefined ? undefined : <FailureNote failure={read.failure} />}
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      <SaveForm
        views={views}
        onSave={(form) =>
          void attempt(async () => {
            await saveView(model, view, form);
            return texts.views.saved(form.title);
          })
        }
      />
      <p role="status">{note}</p>
      <div className="buttons">
        <button type="button" className="button plain" onClick={onClose}>
          {texts.close}
        </button>
      </div>
    </PageDialog>
  );
}

interface SavedViewRowProps {
  model: ModelInfo;
  view: SavedView;
  onOpen: () => void;
  onRemove: () => void;
}

function SavedViewRow({ model, view, onOpen, onRemove }: SavedViewRowProps) {
  const may = usePermissions('');
  const right = { verb: 'delete', model: savedViewInfo, name: view.metadata.name };
  return (
    <>
      <span className="view-title">
        <Link href={viewLink(model, view)} onClick={onOpen}>
          {view.spec.title}
        </Link>
        {view.spec.description === undefined ? undefined : <span className="facts">{view.spec.description}</span>}
      </span>
      <ActionButton
        label={texts.views.remove(view.spec.title)}
        onAction={onRemove}
        missingRule={may(right) ? undefined : missingRule({ ...right, namespace: '' })}
      >
        ×
      </ActionButton>
    </>
  );
}

interface SaveFormProps {
  views: readonly SavedView[];
  onSave: (form: { title: string; description: string; known: SavedView | undefined }) => void;
}

function SaveForm({ views, onSave }: SaveFormProps) {
  const [title, setTitle] = useState('');
  const [description, setDescription] = useState('');
  const may = usePermissions('');
  const known = views.find(({ spec }) => spec.title === title.trim());
  const right = { verb: known === undefined ? 'create' : 'update', model: savedViewInfo };
  const missing = may(right) ? undefined : missingRule({ ...right, namespace: '' });
  const save = (): void => {
    if (missing === undefined && title.trim() !== '') onSave({ title: title.trim(), description, known });
  };
  return (
    <form className="save-view">
      <h3>{texts.views.save}</h3>
      <label>
        {texts.views.name}
        <input value={title} maxLength={100} onChange={(event) => setTitle(event.target.value)} />
      </label>
      <label>
        {texts.views.description}
        <input value={description} maxLength={1000} onChange={(event) => setDescription(event.target.value)} />
      </label>
      <ActionButton kind="primary" isSubmit onAction={save} isDisabled={title.trim() === ''} missingRule={missing}>
        {known === undefined ? texts.views.add : texts.views.replace}
      </ActionButton>
    </form>
  );
}
