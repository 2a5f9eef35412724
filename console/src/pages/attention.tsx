import { isStatusError } from '@svc/client';
import { useMemo, type ReactNode } from 'react';
import { Link } from 'wouter';
import { EventTable } from '../events/event-table.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { PhaseMark } from '../plugins/phase-mark.tsx';
import { pluginLink } from '../plugins/plugin-links.ts';
import { usePlugins } from '../plugins/use-plugins.ts';
import { eventInfo, type EventObject } from '../server/event-info.ts';
import { resourceOf } from '../server/model-info.ts';
import { faultsOf, isInOrder } from '../server/plugin-info.ts';
import { useLiveRead, type LiveRead, type LiveReadSource } from '../server/use-live-read.ts';
import { texts } from '../texts/texts.ts';

const maxWarnings = 5;

/** What somebody should look at: plugins that are not in order, and the newest warnings. */
export function Attention() {
  return (
    <>
      <Plugins />
      <Warnings />
    </>
  );
}

function Plugins() {
  const read = usePlugins();
  const troubled = read.value?.filter((plugin) => !isInOrder(plugin)) ?? [];
  return (
    <Part title={texts.overview.plugins} link="/plugins" read={read}>
      {troubled.length === 0 ? (
        <p>{texts.overview.pluginsInOrder(read.value?.length ?? 0)}</p>
      ) : (
        <ul className="attention">
          {troubled.map((plugin) => (
            <li key={plugin.metadata.name}>
              <Link href={pluginLink(plugin.metadata.name)}>{plugin.spec.displayName ?? plugin.metadata.name}</Link>{' '}
              <PhaseMark plugin={plugin} /> {faultsOf(plugin).join('; ')}
            </li>
          ))}
        </ul>
      )}
    </Part>
  );
}

function Warnings() {
  const read = useLiveRead(useMemo(sourceOfWarnings, []));
  const { value = [] } = read;
  return (
    <Part title={texts.overview.warnings} link="/events?type=Warning" read={read}>
      {value.length === 0 ? <p>{texts.overview.noWarnings}</p> : <EventTable events={value} />}
    </Part>
  );
}

interface PartProps {
  title: string;
  /** To all of it. */
  link: string;
  read: LiveRead<unknown>;
  children: ReactNode;
}

/** Nothing for who may not see it. */
function Part({ title, link, read: { value, failure }, children }: PartProps) {
  if (isStatusError(failure, 'Forbidden')) return undefined;
  return (
    <section aria-label={title}>
      <h2>
        <Link href={link}>{title}</Link>
      </h2>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {value === undefined ? failure === undefined && <p>{texts.loading}</p> : children}
    </section>
  );
}

function sourceOfWarnings(): LiveReadSource<EventObject[]> {
  const resource = resourceOf(eventInfo);
  const selection = { where: { type: 'Warning' } };
  return {
    resource,
    selection,
    minPauseMs: 2000,
    read: async (signal, noteRevision) => {
      const query = { ...selection, sort: ['lastTimestamp,desc'], page: 1, size: maxWarnings, signal };
      const { items, metadata } = await resource.list(query);
      noteRevision(metadata.resourceVersion);
      return items as unknown as EventObject[];
    },
  };
}
