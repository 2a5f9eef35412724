import { isStatusError, type AnyObject, type Stored } from '@svc/client';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { findModel } from '../server/discovery.ts';
import { resourceOf } from '../server/model-info.ts';
import { objectLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';
import { Dependents } from './dependents.tsx';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './owners.css';

/** What owns an object, up to the top, and what it owns, as far down as somebody asks. */
export default function OwnerTree({ object }: { object: Stored<AnyObject> }) {
  const { ownerReferences = [], namespace = '', uid, name } = object.metadata;
  return (
    <section aria-labelledby="owners" className="owners">
      <h2 id="owners">{texts.owners.title}</h2>
      {ownerReferences.length === 0 ? (
        <p className="facts">{texts.owners.noOwners}</p>
      ) : (
        <Owners references={ownerReferences} namespace={namespace} below={[uid]} />
      )}
      <Dependents owner={{ uid, name, namespace }} above={[]} />
    </section>
  );
}

type Reference = NonNullable<Stored<AnyObject>['metadata']['ownerReferences']>[number];

interface OwnersProps {
  references: readonly Reference[];
  /** Of the object that has these owners. */
  namespace: string;
  /** The uids below, so that a circle ends. */
  below: readonly string[];
}

function Owners({ references, namespace, below }: OwnersProps) {
  return (
    <ul aria-label={texts.owners.ownedBy}>
      {references.map((reference) => (
        <li key={reference.uid}>
          <Owner reference={reference} namespace={namespace} below={below} />
        </li>
      ))}
    </ul>
  );
}

/** Owners of owners of so many levels are read. */
const maxLevels = 8;

type OwnerState = 'reading' | 'gone' | 'unreadable' | Stored<AnyObject>;

function Owner({ reference, namespace, below }: { reference: Reference } & Omit<OwnersProps, 'references'>) {
  const { apiVersion, kind, name, uid } = reference;
  const isCircle = below.includes(uid);
  const model = findModel(apiVersion, kind);
  const place = model?.namespaced === true ? { namespace, name } : { name };
  const owner = useOwner(reference, { namespace, isRead: !isCircle && below.length <= maxLevels });
  const note = isCircle
    ? texts.owners.circle
    : owner === 'gone' || owner === 'unreadable'
      ? texts.owners[owner]
      : undefined;
  const above = typeof owner === 'string' ? [] : (owner.metadata.ownerReferences ?? []);
  return (
    <>
      {texts.owners.ownedBy}{' '}
      {model === undefined ? (
        `${kind} ${name}`
      ) : (
        <Link href={objectLink(model, place)}>
          {kind} {name}
        </Link>
      )}{' '}
      {note === undefined ? undefined : <span className="facts">{note}</span>}
      {above.length === 0 ? undefined : (
        <Owners references={above} namespace={place.namespace ?? ''} below={[...below, uid]} />
      )}
    </>
  );
}

/** The owner as it was when it was named; another object of its name is none. */
function useOwner(
  { apiVersion, kind, name, uid }: Reference,
  { namespace, isRead }: { namespace: string; isRead: boolean },
): OwnerState {
  const [state, setState] = useState<OwnerState>('reading');
  useEffect(() => {
    const end = new AbortController();
    const { signal } = end;
    const find = async (): Promise<OwnerState> => {
      const model = findModel(apiVersion, kind);
      if (model === undefined) return 'unreadable';
      try {
        const owner = await resourceOf(model, model.namespaced ? namespace : '').get(name, { signal });
        return owner.metadata.uid === uid ? owner : 'gone';
      } catch (error) {
        return isStatusError(error, 'NotFound') ? 'gone' : 'unreadable';
      }
    };
    const read = async (): Promise<void> => {
      const found = await find();
      if (!signal.aborted) setState(found);
    };
    if (isRead) void read();
    return () => end.abort();
  }, [apiVersion, kind, name, uid, namespace, isRead]);
  return state;
}
