import type { AnyObject, Stored } from '@svc/client';
import { useEffect, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { ActionsButton } from '../actions/object-actions.tsx';
import { useObjectActions } from '../actions/plugin-actions.ts';
import { useFieldHints } from '../form/use-field-hints.ts';
import { usePluginPages } from '../frame/plugin-pages.ts';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { lazy } from '../interface/lazy.tsx';
import { StreamNote } from '../interface/stream-note.tsx';
import { whenIdle } from '../interface/when-idle.ts';
import { useShortcut } from '../interface/shortcuts.ts';
import { useTitle } from '../interface/use-title.ts';
import { useModelFacts } from '../list/model-facts.ts';
import { missingRule } from '../server/missing-rule.ts';
import { modelName, type ModelInfo } from '../server/model-info.ts';
import { usePermissions } from '../server/permissions.ts';
import { useModelSchema } from '../server/use-model-schema.ts';
import { listLink, objectLink } from '../shell/links.ts';
import { UnservedNote } from '../shell/unserved-note.tsx';
import { useModelOfPath } from '../shell/use-model-of-path.ts';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { texts } from '../texts/texts.ts';
import { DeletionNote } from './deletion-note.tsx';
import { EditorTabs, editorView, type EditorView } from './editor-tabs.tsx';
import { GoneNote } from './gone-note.tsx';
import { ObjectOverview } from './object-overview.tsx';
import { useLiveObject } from './use-live-object.ts';

const PageTab = lazy(() => import('../content/page-tab.tsx'));
const EditPanel = lazy(() => import('./edit-panel.tsx'));
const DeleteDialog = lazy(() => import('./delete-dialog.tsx'), null);

interface ObjectPageProps {
  group: string;
  plural: string;
  /** `-` for none. */
  namespace: string;
  name: string;
}

export function ObjectPage({ group, plural, namespace, name }: ObjectPageProps) {
  const { model, isServed } = useModelOfPath(group, plural);
  return (
    <>
      {isServed ? undefined : <UnservedNote group={group} plural={plural} />}
      {model === undefined ? undefined : (
        <ObjectView model={model} isServed={isServed} namespace={namespace === '-' ? '' : namespace} name={name} />
      )}
    </>
  );
}

interface ObjectViewProps {
  model: ModelInfo;
  isServed: boolean;
  namespace: string;
  name: string;
}

function ObjectView({ model, isServed, namespace, name }: ObjectViewProps) {
  useTitle(`${name} · ${model.kind}`);
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const view = editorView(params.get('tab'));
  const pages = usePluginPages('objectTab').value?.filter((page) => page.model === modelName(model)) ?? [];
  const actions = useObjectActions(model);
  const page = params.get('page') ?? undefined;
  const isOverview = view === undefined && page === undefined;
  const { object, isGone, failure, stream } = useLiveObject(model, namespace, name);
  const here = objectLink(model, { namespace, name });
  const isThere = object !== undefined;
  const may = usePermissions(namespace);
  const mayUpdate = may({ verb: 'update', model, name });
  // Who looks at an object often edits it next: what the editor needs is loaded and read before.
  const [hasEditor, setHasEditor] = useState(view !== undefined);
  if (view !== undefined && !hasEditor) setHasEditor(true);
  useEffect(() => {
    if (!isThere) return undefined;
    return whenIdle(() => {
      if (mayUpdate) setHasEditor(true);
      // If it cannot be loaded, the editor says so when it is opened.
      void EditPanel.preload().catch(() => undefined);
    });
  }, [isThere, mayUpdate]);
  useShortcut('e', () => navigate(`${here}?tab=yaml`));
  return (
    <>
      <p className="path">
        <Link href={listLink(model, namespace)}>{model.kind}</Link>
        {namespace === '' ? undefined : ` / ${namespace}`}
      </p>
      <div className="page-head">
        <h1>{name}</h1>
        <StreamNote stream={stream} />
        <SnippetAction request={{ model, namespace, name }} />
        {object === undefined ? undefined : (
          <>
            <ActionsButton model={model} namespace={namespace} actions={actions} rows={[object.metadata]} />
            <DeleteAction model={model} object={object} />
          </>
        )}
      </div>
      {failure === undefined || !isServed ? undefined : <FailureNote failure={failure} />}
      {isGone && isServed ? <GoneNote /> : undefined}
      {object === undefined ? undefined : <DeletionNote model={model} object={object} />}
      <nav className="tabs" aria-label={texts.object.tabs}>
        <Link href={here} aria-current={isOverview ? 'page' : undefined}>
          {texts.object.overview}
        </Link>
        <EditorTabs view={view} />
        {pages.map(({ name: id, title }) => (
          <Link
            key={id}
            href={`${here}?page=${encodeURIComponent(id)}`}
            aria-current={page === id ? 'page' : undefined}
          >
            {title}
          </Link>
        ))}
      </nav>
      {object === undefined && !isGone && failure === undefined ? <p role="status">{texts.loading}</p> : undefined}
      {object !== undefined && isOverview ? <ObjectOverview model={model} object={object} /> : undefined}
      <PageTabs model={model} namespace={namespace} name={name} shown={view === undefined ? page : undefined} />
      {hasEditor ? <EditTab model={model} object={object} view={view} /> : undefined}
    </>
  );
}

interface PageTabsProps {
  model: ModelInfo;
  namespace: string;
  name: string;
  /** Undefined: another tab is. */
  shown: string | undefined;
}

/** Once opened, a page of a plugin stays, with what was typed, while another tab is shown. */
function PageTabs({ shown, ...object }: PageTabsProps) {
  const [opened, setOpened] = useState<readonly string[]>([]);
  if (shown !== undefined && !opened.includes(shown)) setOpened([...opened, shown]);
  return opened.map((page) => (
    <div key={page} hidden={page !== shown}>
      <PageTab page={page} {...object} />
    </div>
  ));
}

interface EditTabProps {
  model: ModelInfo;
  object: Stored<AnyObject> | undefined;
  /** Undefined: another tab is shown. */
  view: EditorView | undefined;
}

/** Once opened, the editor stays, with what was typed, while another tab is shown or the object is deleted. */
function EditTab({ model, object, view }: EditTabProps) {
  const [last, setLast] = useState<EditorView>('yaml');
  if (view !== undefined && view !== last) setLast(view);
  const isShown = view !== undefined;
  const [first, setFirst] = useState<Stored<AnyObject> | undefined>(undefined);
  if (isShown && first === undefined && object !== undefined) setFirst(object);
  // All three are read at the same time, also while the editor is loaded.
  const facts = useModelFacts(model);
  const schema = useModelSchema(model);
  const hints = useFieldHints(model);
  if (first === undefined) return undefined;
  return (
    <div hidden={!isShown}>
      <EditPanel model={model} facts={facts} schema={schema} hints={hints} view={last} first={first} newest={object} />
    </div>
  );
}

function DeleteAction({ model, object }: { model: ModelInfo; object: Stored<AnyObject> }) {
  const [isOpen, setOpen] = useState(false);
  const { namespace = '', name, deletionTimestamp } = object.metadata;
  const may = usePermissions(namespace);
  const missing = may({ verb: 'delete', model, name })
    ? undefined
    : missingRule({ verb: 'delete', model, namespace, name });
  return (
    <>
      <ActionButton
        kind="danger"
        onAction={() => setOpen(true)}
        missingRule={missing}
        reason={deletionTimestamp === undefined ? undefined : texts.object.isDeleting}
      >
        {texts.object.remove}
      </ActionButton>
      {isOpen ? <DeleteDialog model={model} object={object} onClose={() => setOpen(false)} /> : undefined}
    </>
  );
}
