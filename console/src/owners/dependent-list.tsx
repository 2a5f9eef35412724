import { useState } from 'react';
import { Link } from 'wouter';
import { modelName } from '../server/model-info.ts';
import { listLink, objectLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';
import { useDependents, type DependentGroup, type Owner } from './use-dependents.ts';

interface DependentListProps {
  owner: Owner;
  /** The uids above, so that a circle ends. */
  above: readonly string[];
}

/** Objects that name this one as an owner. Each model is asked for them when somebody wants to know. */
export function DependentList({ owner, above }: DependentListProps) {
  const [isOpen, setOpen] = useState(false);
  const found = useDependents(owner, isOpen);
  const isReading = found !== undefined && found.done < found.all;
  const isTop = above.length === 0;
  return (
    <>
      <button
        type="button"
        className="button plain"
        aria-expanded={isOpen}
        aria-label={isOpen ? texts.owners.hideOf(owner.name) : texts.owners.findOf(owner.name)}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? texts.owners.hide : texts.owners.find}
      </button>
      <span role="status" className="facts">
        {isReading ? ` ${texts.owners.looking(found.done, found.all)}` : undefined}
      </span>
      {found === undefined || isReading ? undefined : (
        <>
          {found.groups.length === 0 ? <p className="facts">{texts.owners.none}</p> : undefined}
          {found.failed.length === 0 ? undefined : (
            <p className="facts">{texts.owners.partial(found.failed.join(', '))}</p>
          )}
          {found.isComplete ? undefined : <p className="facts">{texts.owners.incomplete}</p>}
        </>
      )}
      {found === undefined || found.groups.length === 0 ? undefined : (
        <ul aria-label={isTop ? texts.owners.title : texts.owners.findOf(owner.name)}>
          {found.groups.map((group) => (
            <li key={modelName(group.model)}>
              <GroupOfDependents owner={owner} group={group} above={above} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function GroupOfDependents({ owner, group, above }: DependentListProps & { group: DependentGroup }) {
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
              <DependentList owner={{ ...row, namespace: row.namespace ?? '' }} above={path} />
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
