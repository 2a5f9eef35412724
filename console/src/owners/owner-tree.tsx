import type { AnyObject, Stored } from '@svc/client';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { useLiveObject } from '../object/use-live-object.ts';
import { findModel, models } from '../server/discovery.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { objectLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';
import { DependentList } from './dependent-list.tsx';
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
      <DependentList owner={{ uid, name, namespace }} above={[]} />
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

interface OwnerProps extends Omit<OwnersProps, 'references'> {
  reference: Reference;
}

function Owner({ reference, namespace, below }: OwnerProps) {
  const { apiVersion, kind, name, uid } = reference;
  const all = useObservable(models);
  // Another value in each call would be another object to follow.
  const model = useMemo(() => findModel(apiVersion, kind, all), [all, apiVersion, kind]);
  const isCircle = below.includes(uid);
  return (
    <>
      {texts.owners.ownedBy}{' '}
      {model === undefined ? (
        `${kind} ${name}`
      ) : (
        <Link href={objectLink(model, { namespace: model.namespaced ? namespace : '', name })}>
          {kind} {name}
        </Link>
      )}{' '}
      {model === undefined ? <span className="facts">{texts.owners.unreadable}</span> : undefined}
      {isCircle ? <span className="facts">{texts.owners.circle}</span> : undefined}
      {model === undefined || isCircle || below.length > maxLevels ? undefined : (
        <OwnersOfOwner model={model} reference={reference} namespace={namespace} below={below} />
      )}
    </>
  );
}

/** What owns an owner, as both are now. Another object of its name is none. */
function OwnersOfOwner({ model, reference: { name, uid }, namespace, below }: OwnerProps & { model: ModelInfo }) {
  const place = model.namespaced ? namespace : '';
  const { object, isGone, failure } = useLiveObject(model, place, name);
  if (isGone || (object !== undefined && object.metadata.uid !== uid))
    return <span className="facts">{texts.owners.gone}</span>;
  if (object === undefined)
    return failure === undefined ? undefined : <span className="facts">{texts.owners.unreadable}</span>;
  const { ownerReferences = [] } = object.metadata;
  if (ownerReferences.length === 0) return undefined;
  return <Owners references={ownerReferences} namespace={place} below={[...below, uid]} />;
}
