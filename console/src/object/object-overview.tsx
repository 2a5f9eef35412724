import { isStatusError, type AnyObject, type JsonObject, type JsonValue, type Stored } from '@svc/client';
import { useEffect, useState } from 'react';
import { DataTable } from '../interface/data-table.tsx';
import { Fact } from '../interface/fact.tsx';
import { lazy } from '../interface/lazy.tsx';
import { eventInfo } from '../server/event-info.ts';
import { followChanges } from '../server/follow-changes.ts';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { formatDate, texts } from '../texts/texts.ts';
import { ObjectValues } from './object-values.tsx';

const OwnerTree = lazy(() => import('../owners/owner-tree.tsx'), null);

/** What an object is and how it is: conditions, values, metadata, owners, events. */
export function ObjectOverview({ model, object }: { model: ModelInfo; object: Stored<AnyObject> }) {
  return (
    <>
      <Conditions object={object} />
      <ObjectValues object={object} />
      <Metadata model={model} object={object} />
      <OwnerTree key={object.metadata.uid} object={object} />
      <ObjectEvents object={object} />
    </>
  );
}

function Metadata({ object }: { model: ModelInfo; object: Stored<AnyObject> }) {
  const { name, namespace, creationTimestamp, labels = {}, annotations = {} } = object.metadata;
  return (
    <section aria-labelledby="metadata">
      <h2 id="metadata">{texts.object.metadata}</h2>
      <dl className="facts-list">
        <Fact name={texts.object.name}>{name}</Fact>
        {namespace === undefined ? undefined : <Fact name={texts.object.namespace}>{namespace}</Fact>}
        <Fact name={texts.object.created}>{formatDate(creationTimestamp)}</Fact>
        <Fact name={texts.object.labels}>
          <Pairs pairs={labels} />
        </Fact>
        <Fact name={texts.object.annotations}>
          <Pairs pairs={annotations} />
        </Fact>
        <Fact name={texts.object.uid}>
          <code>{object.metadata.uid}</code>
        </Fact>
        <Fact name={texts.object.revision}>
          <code>{object.metadata.resourceVersion}</code>
        </Fact>
      </dl>
    </section>
  );
}

function Pairs({ pairs }: { pairs: Readonly<Record<string, string>> }) {
  const entries = Object.entries(pairs);
  if (entries.length === 0) return texts.object.none;
  return (
    <ul>
      {entries.map(([key, value]) => (
        <li key={key}>
          <code>
            {key}={value}
          </code>
        </li>
      ))}
    </ul>
  );
}

/** What `status.conditions` says. */
export function Conditions({ object }: { object: Stored<AnyObject> }) {
  const conditions = conditionsOf(object);
  if (conditions.length === 0) return undefined;
  const { condition } = texts.object;
  const columns = [condition.type, condition.status, condition.reason, condition.message, condition.since];
  return (
    <section aria-labelledby="conditions">
      <h2 id="conditions">{texts.object.conditions}</h2>
      <DataTable
        label={texts.object.conditions}
        columns={columns}
        rows={conditions.map((each) => [
          textOf(each['type']),
          textOf(each['status']),
          textOf(each['reason']),
          textOf(each['message']),
          formatDate(textOf(each['lastTransitionTime'])),
        ])}
      />
    </section>
  );
}

const maxEvents = 50;

/** The newest events of an object, as they come. */
export function ObjectEvents({ object }: { object: Stored<AnyObject> }) {
  const events = useEvents(object);
  const { event } = texts.object;
  return (
    <section aria-labelledby="events">
      <h2 id="events">{texts.object.events}</h2>
      {events === 'forbidden' ? <p>{texts.object.noEventsRight}</p> : undefined}
      {events?.length === 0 ? <p>{texts.object.noEvents}</p> : undefined}
      {events === undefined || events === 'forbidden' || events.length === 0 ? undefined : (
        <DataTable
          label={texts.object.events}
          columns={[event.type, event.reason, event.message, event.last, event.count]}
          rows={events.map((each) => [
            textOf(each['type']),
            textOf(each['reason']),
            textOf(each['message']),
            formatDate(textOf(each['lastTimestamp'] ?? each['eventTime'])),
            textOf(each['count'] ?? 1),
          ])}
        />
      )}
    </section>
  );
}

/** The newest events of an object; undefined until they are known. */
function useEvents({ metadata }: Stored<AnyObject>): readonly JsonObject[] | 'forbidden' | undefined {
  const [events, setEvents] = useState<readonly JsonObject[] | 'forbidden' | undefined>(undefined);
  const { uid, namespace = '' } = metadata;
  useEffect(() => {
    const end = new AbortController();
    const { signal } = end;
    const resource = resourceOf(eventInfo, namespace);
    const selection = { where: { 'involvedObject.uid': uid } };
    const fail = (failure: unknown): boolean => {
      const isForbidden = isStatusError(failure, 'Forbidden');
      if (isForbidden && !signal.aborted) setEvents('forbidden');
      return isForbidden;
    };
    const read = async (): Promise<void> => {
      const { items } = await resource.list({
        ...selection,
        sort: ['lastTimestamp,desc'],
        page: 1,
        size: maxEvents,
        signal,
      });
      if (!signal.aborted) setEvents(items as unknown as JsonObject[]);
    };
    followChanges(resource, { signal, selection, onEvents: () => void read().catch(fail), isEnd: fail });
    return () => end.abort();
  }, [uid, namespace]);
  return events;
}

function conditionsOf(object: Stored<AnyObject>): JsonObject[] {
  const { status } = object as unknown as { status?: { conditions?: JsonValue } };
  const conditions = status?.conditions;
  return Array.isArray(conditions) ? conditions.filter(isObject) : [];
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
