import { useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { models } from '../server/discovery.ts';
import { modelName, resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { usePermissions } from '../server/permissions.ts';
import { readTable, type RowMeta } from '../server/read-table.ts';
import { listLink, objectLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';

export interface Owner {
  uid: string;
  name: string;
  /** Empty: of a model without namespaces, whose dependents may be in any. */
  namespace: string;
}

interface Group {
  model: ModelInfo;
  rows: readonly RowMeta[];
  total: number;
  isLowerBound: boolean;
}

type Search = { done: number; all: number; groups: readonly Group[]; failed: readonly string[] };

const concurrent = 4;
/** Of each model; the list of the model has the others. */
const rowsShown = 20;

interface DependentsProps {
  owner: Owner;
  /** The uids above, so that a circle ends. */
  above: readonly string[];
}

/** Objects that name this one as an owner. Each model is asked for them when somebody wants to know. */
export function Dependents({ owner, above }: DependentsProps) {
  const [search, setSearch] = useState<Search | undefined>(undefined);
  const may = usePermissions(owner.namespace);
  // A namespaced object owns none of a model without namespaces.
  const readable = (useObservable(models) ?? []).filter(
    (model) => (owner.namespace === '' || model.namespaced) && may({ verb: 'list', model }),
  );
  const end = useRef(new AbortController());
  useEffect(() => () => end.current.abort(), []);
  const find = async (): Promise<void> => {
    end.current = new AbortController();
    await findDependents(owner, readable, { signal: end.current.signal, onProgress: setSearch });
  };
  const isRunning = search !== undefined && search.done < search.all;
  const isTop = above.length === 0;
  return (
    <>
      <button
        type="button"
        className="button plain"
        aria-label={search === undefined ? texts.owners.findOf(owner.name) : texts.owners.againOf(owner.name)}
        aria-disabled={isRunning}
        onClick={() => {
          if (!isRunning) void find();
        }}
      >
        {search === undefined ? texts.owners.find : texts.owners.again}
      </button>
      <span role="status" className="facts">
        {isRunning ? ` ${texts.owners.looking(search.done, search.all)}` : undefined}
      </span>
      {search === undefined || isRunning ? undefined : (
        <>
          {search.groups.length === 0 ? <p className="facts">{texts.owners.none}</p> : undefined}
          {search.failed.length === 0 ? undefined : (
            <p className="facts">{texts.owners.partial(search.failed.join(', '))}</p>
          )}
        </>
      )}
      {search === undefined || search.groups.length === 0 ? undefined : (
        <ul aria-label={isTop ? texts.owners.title : texts.owners.findOf(owner.name)}>
          {search.groups.map((group) => (
            <li key={modelName(group.model)}>
              <GroupOfDependents owner={owner} group={group} above={above} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function GroupOfDependents({ owner, group, above }: DependentsProps & { group: Group }) {
  const { model, rows, total, isLowerBound } = group;
  const path = [...above, owner.uid];
  const query = new URLSearchParams({ f: `metadata.ownerReferences.uid=${owner.uid}` });
  if (owner.namespace !== '') query.set('ns', owner.namespace);
  const count = isLowerBound ? texts.overview.atLeast(total) : texts.number(total);
  return (
    <>
      <Link href={`${listLink(model)}?${query.toString()}`}>{texts.owners.count(model.kind, count)}</Link>
      <ul>
        {rows.map((row) => (
          <li key={row.uid}>
            <Link href={objectLink(model, row)}>
              {owner.namespace === '' && row.namespace !== undefined ? `${row.namespace}/${row.name}` : row.name}
            </Link>{' '}
            {path.includes(row.uid) ? (
              <span className="facts">{texts.owners.circle}</span>
            ) : (
              <Dependents owner={{ ...row, namespace: row.namespace ?? '' }} above={path} />
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

interface FindOptions {
  signal: AbortSignal;
  onProgress: (search: Search) => void;
}

/** Each model has an index of its owners' uids. */
async function findDependents(
  { uid, namespace }: Owner,
  all: readonly ModelInfo[],
  { signal, onProgress }: FindOptions,
): Promise<void> {
  const now = { done: 0, all: all.length, groups: [] as Group[], failed: [] as string[] };
  const waiting = all.values();
  const work = async (): Promise<void> => {
    for (const model of waiting) {
      try {
        const where = { 'metadata.ownerReferences.uid': uid };
        const { rows, total, totalIsLowerBound } = await readTable(resourceOf(model, namespace), {
          where,
          page: 1,
          size: rowsShown,
          signal,
        });
        if (rows.length > 0)
          now.groups.push({
            model,
            rows: rows.map(({ object }) => object.metadata),
            total: total ?? rows.length,
            isLowerBound: totalIsLowerBound ?? false,
          });
      } catch {
        if (signal.aborted) return;
        now.failed.push(modelName(model));
      }
      now.done += 1;
      const groups = now.groups.toSorted((a, b) => all.indexOf(a.model) - all.indexOf(b.model));
      onProgress({ ...now, groups, failed: [...now.failed] });
    }
  };
  onProgress(now);
  await Promise.all(Array.from({ length: concurrent }, work));
}
