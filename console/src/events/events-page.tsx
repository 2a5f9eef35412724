import { useMemo, useState, type FormEvent } from 'react';
import { useSearchParams } from 'wouter';
import { FailureNote } from '../interface/failure-note.tsx';
import { StreamNote } from '../interface/stream-note.tsx';
import { useShortcut } from '../interface/shortcuts.ts';
import { useTitle } from '../interface/use-title.ts';
import { eventInfo, type EventObject } from '../server/event-info.ts';
import { resourceOf } from '../server/model-info.ts';
import { useLiveRead, type LiveReadSource } from '../server/use-live-read.ts';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { NamespaceChooser } from '../shell/namespace-chooser.tsx';
import { texts } from '../texts/texts.ts';
import { EventTable } from './event-table.tsx';

/** Which events are shown: all of it is in the URL. An empty text is no condition. */
interface EventFilter {
  namespace: string;
  type: string;
  kind: string;
  name: string;
}

interface EventList {
  events: readonly EventObject[];
  total: number;
  isLowerBound: boolean;
}

const pageSize = 100;
/** The server gives no longer pages. */
const maxShown = 1000;
const eventTypes = ['Warning', 'Normal'] as const;

/** What happened to the objects of all models, the newest first. */
export default function EventsPage() {
  useTitle(texts.events.title);
  const [params, setParams] = useSearchParams();
  const text = params.toString();
  const filter = useMemo(() => readFilter(new URLSearchParams(text)), [text]);
  const setFilter = (next: EventFilter): void => setParams(writeFilter(next), { replace: true });
  const [size, setSize] = useState(pageSize);
  const { value, failure, stream } = useLiveRead(useMemo(() => sourceOf(filter, size), [filter, size]));
  return (
    <>
      <div className="page-head">
        <h1>{texts.events.title}</h1>
        <p role="status" className="facts">
          {value === undefined ? texts.loading : texts.events.total(value.total, value.isLowerBound)}
        </p>
        <StreamNote stream={stream} />
        <SnippetAction
          request={{ model: eventInfo, namespace: filter.namespace, selection: selectionOf(filter), sort }}
        />
        <NamespaceChooser value={filter.namespace} onChange={(namespace) => setFilter({ ...filter, namespace })} />
      </div>
      <Filter key={text} filter={filter} onChange={setFilter} />
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {value?.events.length === 0 ? <p>{texts.events.none}</p> : undefined}
      {value === undefined || value.events.length === 0 ? undefined : <EventTable events={value.events} />}
      {value !== undefined && value.total > value.events.length && size < maxShown ? (
        <p>
          <button type="button" className="button plain" onClick={() => setSize(size + pageSize)}>
            {texts.events.more(pageSize)}
          </button>
        </p>
      ) : undefined}
    </>
  );
}

function Filter({ filter, onChange }: { filter: EventFilter; onChange: (filter: EventFilter) => void }) {
  const [draft, setDraft] = useState(filter);
  useShortcut('/', () => document.querySelector<HTMLElement>('.event-filter select')?.focus());
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onChange({ ...draft, kind: draft.kind.trim(), name: draft.name.trim() });
  };
  return (
    <section aria-label={texts.filter.label} className="filter event-filter">
      <form onSubmit={submit}>
        <label>
          {texts.events.type}
          <select value={filter.type} onChange={({ target }) => onChange({ ...draft, type: target.value })}>
            <option value="">{texts.events.allTypes}</option>
            {eventTypes.map((type) => (
              <option key={type} value={type}>
                {texts.events.types[type]}
              </option>
            ))}
          </select>
        </label>
        <label>
          {texts.events.kind}
          <input
            value={draft.kind}
            placeholder={texts.events.kindExample}
            onChange={({ target }) => setDraft({ ...draft, kind: target.value })}
          />
        </label>
        <label>
          {texts.events.name}
          <input value={draft.name} onChange={({ target }) => setDraft({ ...draft, name: target.value })} />
        </label>
        <button type="submit" className="button plain">
          {texts.events.apply}
        </button>
        {filter.type + filter.kind + filter.name === '' ? undefined : (
          <button
            type="button"
            className="button plain"
            onClick={() => onChange({ namespace: filter.namespace, type: '', kind: '', name: '' })}
          >
            {texts.events.clear}
          </button>
        )}
      </form>
    </section>
  );
}

function readFilter(params: URLSearchParams): EventFilter {
  const read = (name: string): string => params.get(name) ?? '';
  return { namespace: read('ns'), type: read('type'), kind: read('kind'), name: read('name') };
}

function writeFilter({ namespace, ...others }: EventFilter): URLSearchParams {
  const given = Object.entries({ ns: namespace, ...others }).filter(([, value]) => value !== '');
  return new URLSearchParams(given);
}

/** The newest first. */
const sort = ['lastTimestamp,desc'];

function selectionOf({ type, kind, name }: EventFilter): { where: Record<string, string> } {
  const conditions = { type, 'involvedObject.kind': kind, 'involvedObject.name': name };
  return { where: Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== '')) };
}

function sourceOf(filter: EventFilter, size: number): LiveReadSource<EventList> {
  const resource = resourceOf(eventInfo, filter.namespace);
  const selection = selectionOf(filter);
  return {
    resource,
    selection,
    read: async (signal, noteRevision) => {
      const query = { ...selection, sort, page: 1, size, signal };
      const { items, metadata, total = items.length, totalIsLowerBound = false } = await resource.list(query);
      noteRevision(metadata.resourceVersion);
      return { events: items as unknown as EventObject[], total, isLowerBound: totalIsLowerBound };
    },
  };
}
