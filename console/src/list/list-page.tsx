import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { ActionsButton, ObjectActions, type ChosenObjects } from '../actions/object-actions.tsx';
import { useObjectActions } from '../actions/plugin-actions.ts';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { lazy } from '../interface/lazy.tsx';
import { StreamNote } from '../interface/stream-note.tsx';
import { useShortcut } from '../interface/shortcuts.ts';
import { useTitle } from '../interface/use-title.ts';
import { models } from '../server/discovery.ts';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { PlotToggle } from '../plots/plot-toggle.tsx';
import { usePermissions } from '../server/permissions.ts';
import { readTable, type RowMeta } from '../server/read-table.ts';
import { missingRule } from '../server/missing-rule.ts';
import { fieldsLink, modelOfPath, newLink, objectLink } from '../shell/links.ts';
import { NamespaceChooser } from '../shell/namespace-chooser.tsx';
import { texts } from '../texts/texts.ts';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { FilterBar } from './filter-bar.tsx';
import { readListView, selectionOf, toggleSort, writeListView, type ListView } from './list-view.ts';
import { useModelFacts } from './model-facts.ts';
import { ObjectGrid } from './object-grid.tsx';
import { shownColumns } from './shown-columns.ts';
import { useListWindow } from './use-list-window.ts';
import { toggled, withAll, without, type SelectedRows } from './selection.ts';

const ViewsDialog = lazy(() => import('../views/views-dialog.tsx'), null);
const ColumnsDialog = lazy(() => import('./columns-dialog.tsx'), null);
const ExportDialog = lazy(() => import('../export/export-dialog.tsx'), null);
const BulkChange = lazy(() => import('../bulk/bulk-change.tsx'), null);
const BulkDelete = lazy(() => import('../bulk/bulk-delete.tsx'), null);

export function ListPage({ group, plural }: { group: string; plural: string }) {
  useObservable(models);
  const model = modelOfPath(group, plural);
  if (model === undefined) return <p role="alert">{texts.list.unknown(`${plural}.${group}`)}</p>;
  return <ModelList model={model} />;
}

const connecting = { name: 'connecting' } as const;
const maxSelected = 10_000;
const selectChunk = 1000;

function ModelList({ model }: { model: ModelInfo }) {
  useTitle(model.kind);
  const [, navigate] = useLocation();
  const [params, setParams] = useSearchParams();
  const text = params.toString();
  const view = useMemo(() => readListView(new URLSearchParams(text)), [text]);
  const rowsText = writeListView({ ...view, columns: [] }).toString();
  /** Other columns are the same rows. */
  const rowsView = useMemo(() => readListView(new URLSearchParams(rowsText)), [rowsText]);
  const setView = (next: ListView): void => setParams(writeListView(next), { replace: true });
  const facts = useModelFacts(model);
  const { list, snapshot, view: shownView, isOutdated } = useListWindow(model, rowsView);
  const [selection, setSelection] = useState<SelectedRows>(new Map());
  const [isTooMany, setTooMany] = useState(false);
  const [dialog, setDialog] = useState<'delete' | 'change' | 'columns' | 'export' | 'views' | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const actions = useObjectActions(model);
  const [chosen, setChosen] = useState<ChosenObjects | undefined>(undefined);
  const previous = useRef<number | undefined>(undefined);
  const firstField = useRef<HTMLSelectElement>(null);
  const may = usePermissions(view.namespace);
  const ruleMissing = (verb: string): string | undefined =>
    may({ verb, model }) ? undefined : missingRule({ verb, model, namespace: view.namespace });

  const select = (next: SelectedRows): void => {
    setTooMany(false);
    setSelection(next);
  };
  // What another view does not show is not selected unseen.
  useEffect(() => select(new Map()), [rowsText]);

  const create = (): void => navigate(newLink(model, view.namespace));
  useShortcut('/', () => firstField.current?.focus());
  useShortcut('n', () => {
    if (ruleMissing('create') === undefined) create();
  });

  const onSelect = (index: number, { range }: { range: boolean }): void => {
    if (isOutdated) return;
    const from = range ? (previous.current ?? index) : index;
    previous.current = index;
    const rows = Array.from({ length: Math.abs(index - from) + 1 }, (_, at) => list?.row(Math.min(index, from) + at));
    const found = rows.flatMap((row) => (row === undefined ? [] : [row.object.metadata]));
    if (found.length === 1) select(toggled(selection, found[0]!));
    else select(withAll(selection, found));
  };
  const selectAll = async (): Promise<void> => {
    const found = await readAll(model, view);
    select(withAll(new Map(), found.slice(0, maxSelected)));
    setTooMany(found.length > maxSelected);
  };
  const onShow = useCallback((first: number, last: number) => list?.show(first, last), [list]);
  const { total } = snapshot;
  const columns = useMemo(() => shownColumns(snapshot.columns, view.columns), [snapshot.columns, view.columns]);
  const close = (): void => setDialog(undefined);
  const isFiltered = view.conditions.length + view.labels.length > 0;
  return (
    <div className="list-page">
      <div className="page-head">
        <h1>{model.kind}</h1>
        <p role="status" className="facts">
          {total === undefined || isOutdated ? texts.loading : texts.list.total(total, snapshot.isLowerBound)}
        </p>
        <StreamNote stream={isOutdated ? connecting : snapshot.stream} />
        <Link href={fieldsLink(model)}>{texts.fields.link}</Link>
        <PlotToggle model={model} view={view} facts={facts} />
        {model.namespaced ? (
          <NamespaceChooser value={view.namespace} onChange={(namespace) => setView({ ...view, namespace })} />
        ) : undefined}
        {model.verbs.includes('create') ? (
          <ActionButton kind="primary" onAction={create} missingRule={ruleMissing('create')}>
            {texts.list.create}
          </ActionButton>
        ) : undefined}
      </div>
      <FilterBar indexes={facts.indexes} view={view} onChange={setView} firstField={firstField} />
      <div className="list-tools">
        <button type="button" className="button plain" onClick={() => setDialog('views')}>
          {texts.views.open}
        </button>
        <button type="button" className="button plain" onClick={() => setDialog('columns')}>
          {texts.columns.open}
        </button>
        <button type="button" className="button plain" onClick={() => setDialog('export')}>
          {texts.exported.open}
        </button>
        <Link className="button" href="/apply">
          {texts.list.import}
        </Link>
        <SnippetAction request={{ model, namespace: view.namespace, selection: selectionOf(view), sort: view.sort }} />
      </div>
      {snapshot.failure === undefined ? undefined : <FailureNote failure={snapshot.failure} />}
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {selection.size === 0 ? undefined : (
        <div className="bulk" role="region" aria-label={texts.list.selected(selection.size)}>
          <span>{texts.list.selected(selection.size)}</span>
          {isTooMany ? <span>{texts.list.tooMany(maxSelected)}</span> : undefined}
          <ActionButton onAction={() => setDialog('change')} missingRule={ruleMissing('patch')}>
            {texts.bulk.change.open}
          </ActionButton>
          <ActionButton kind="danger" onAction={() => setDialog('delete')} missingRule={ruleMissing('delete')}>
            {texts.list.remove}
          </ActionButton>
          <ActionsButton model={model} namespace={view.namespace} actions={actions} rows={[...selection.values()]} />
          <button type="button" className="button plain" onClick={() => select(new Map())}>
            {texts.list.clear}
          </button>
        </div>
      )}
      {total === 0 && snapshot.failure === undefined ? (
        <p className="empty">{isFiltered ? texts.list.emptyFiltered : texts.list.empty}</p>
      ) : undefined}
      {snapshot.columns.length === 0 || total === 0 ? undefined : (
        <ObjectGrid
          label={texts.list.rows(model.kind)}
          columns={columns}
          rowCount={total ?? 0}
          row={(index) => list?.row(index)}
          onShow={onShow}
          place={shownView}
          isBusy={isOutdated}
          selectable={{
            selection,
            onSelect,
            all: (
              <input
                type="checkbox"
                aria-label={texts.list.selectAll}
                checked={selection.size > 0 && selection.size === total}
                onChange={(event) => {
                  if (event.target.checked) void selectAll().then(() => setFailure(undefined), setFailure);
                  else select(new Map());
                }}
              />
            ),
          }}
          linkOf={({ object }) => objectLink(model, object.metadata)}
          onOpen={({ object }) => navigate(objectLink(model, object.metadata))}
          onMenu={
            actions.length === 0 ? undefined : ({ object }, trigger) => setChosen({ rows: [object.metadata], trigger })
          }
          hasNamespaces={model.namespaced && view.namespace === ''}
          sort={view.sort}
          sortKeyOf={({ name }) => facts.sortOf.get(name)}
          onSort={(key, options) => setView({ ...view, sort: toggleSort(view.sort, key, options) })}
        />
      )}
      <ObjectActions
        model={model}
        namespace={view.namespace}
        actions={actions}
        chosen={chosen}
        onClose={() => setChosen(undefined)}
      />
      {dialog === 'delete' ? (
        <BulkDelete
          model={model}
          selection={selection}
          onDeleted={(uids) => select(without(selection, uids))}
          onClose={close}
        />
      ) : undefined}
      {dialog === 'change' ? <BulkChange model={model} selection={selection} onClose={close} /> : undefined}
      {dialog === 'export' ? (
        <ExportDialog
          model={model}
          list={{ namespace: view.namespace, sort: view.sort, ...selectionOf(view) }}
          selection={selection}
          onClose={close}
        />
      ) : undefined}
      {dialog === 'views' ? <ViewsDialog model={model} view={view} onClose={close} /> : undefined}
      {dialog === 'columns' ? (
        <ColumnsDialog all={snapshot.columns} indexes={facts.indexes} view={view} onChange={setView} onClose={close} />
      ) : undefined}
    </div>
  );
}

/** More than may be selected, if there are more. @throws StatusError */
async function readAll(model: ModelInfo, view: ListView): Promise<RowMeta[]> {
  const found: RowMeta[] = [];
  for (let page = 1; found.length <= maxSelected; page += 1) {
    const query = { ...selectionOf(view), page, size: selectChunk };
    const { rows, hasNext } = await readTable(resourceOf(model, view.namespace), query);
    found.push(...rows.map(({ object }) => object.metadata));
    if (hasNext !== true) break;
  }
  return found;
}
