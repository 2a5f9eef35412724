import { useCallback, useMemo, useState, type CSSProperties } from 'react';
import { Link, useLocation } from 'wouter';
import { FailureNote } from '../interface/failure-note.tsx';
import { StreamNote } from '../interface/stream-note.tsx';
import { toggleSort } from '../list/list-view.ts';
import { useModelFacts } from '../list/model-facts.ts';
import { ObjectGrid } from '../list/object-grid.tsx';
import { shownColumns } from '../list/shown-columns.ts';
import { useListWindow } from '../list/use-list-window.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { missingRule } from '../server/missing-rule.ts';
import { usePermissions } from '../server/permissions.ts';
import { objectLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';
import { viewLink, type ListSpec } from '../views/saved-view.ts';
import { contentView } from './content-view.ts';

interface ContentListProps {
  model: ModelInfo;
  list: ListSpec;
}

/** So many rows are seen at once; the others by scrolling. */
const maxShownRows = 10;

export function ContentList(props: ContentListProps) {
  const { model, list } = props;
  const { namespace } = contentView(model, list);
  const may = usePermissions(namespace);
  if (may({ verb: 'list', model })) return <Rows {...props} />;
  return <p className="note">{texts.navigation.noRight(missingRule({ verb: 'list', model, namespace }))}</p>;
}

function Rows({ model, list }: ContentListProps) {
  const [, navigate] = useLocation();
  const given = useMemo(() => contentView(model, list), [model, list]);
  const [sort, setSort] = useState<readonly string[] | undefined>(undefined);
  const view = useMemo(() => (sort === undefined ? given : { ...given, sort }), [given, sort]);
  const facts = useModelFacts(model);
  const { list: rows, snapshot, view: shownView, isOutdated } = useListWindow(model, view);
  const columns = useMemo(() => shownColumns(snapshot.columns, view.columns), [snapshot.columns, view.columns]);
  const onShow = useCallback((first: number, last: number) => rows?.show(first, last), [rows]);
  const { total, failure } = snapshot;
  const size = { '--rows': Math.min(maxShownRows, total ?? 0) } as CSSProperties;
  return (
    <div style={size}>
      <div className="content-facts">
        <p role="status" className="facts">
          {total === undefined ? texts.loading : texts.list.total(total, snapshot.isLowerBound)}
        </p>
        <StreamNote stream={snapshot.stream} />
        <Link href={viewLink(model, { spec: list })}>{texts.content.openList}</Link>
      </div>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {snapshot.columns.length === 0 || total === 0 ? undefined : (
        <ObjectGrid
          label={texts.list.rows(model.kind)}
          columns={columns}
          rowCount={total ?? 0}
          row={(index) => rows?.row(index)}
          onShow={onShow}
          place={shownView}
          isBusy={isOutdated}
          linkOf={({ object }) => objectLink(model, object.metadata)}
          onOpen={({ object }) => navigate(objectLink(model, object.metadata))}
          hasNamespaces={model.namespaced && view.namespace === ''}
          sort={view.sort}
          sortKeyOf={({ name }) => facts.sortOf.get(name)}
          onSort={(key, options) => setSort(toggleSort(view.sort, key, options))}
        />
      )}
    </div>
  );
}
