import { Age } from '../interface/age.tsx';
import { DataTable } from '../interface/data-table.tsx';
import { lastSeen, type EventObject } from '../server/event-info.ts';
import { NamedObject } from '../shell/named-object.tsx';
import { texts } from '../texts/texts.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './event-table.css';

/** Events with their objects. */
export function EventTable({ events }: { events: readonly EventObject[] }) {
  const { event } = texts.object;
  return (
    <DataTable
      label={texts.events.title}
      columns={[texts.events.age, event.type, texts.events.object, event.reason, event.message, event.count]}
      numeric={[5]}
      keyOf={(at) => events[at]!.metadata.uid}
      rows={events.map((each) => [
        <Age key="age" timestamp={lastSeen(each)} />,
        <span key="type" className={each.type === 'Warning' ? 'event-type warning' : 'event-type'}>
          {each.type}
        </span>,
        <NamedObject key="object" {...each.involvedObject} />,
        each.reason,
        each.message,
        texts.number(each.count ?? 1),
      ])}
    />
  );
}
