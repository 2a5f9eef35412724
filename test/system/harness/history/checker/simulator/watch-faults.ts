import type { StreamEnd } from '../../history.ts';
import { objectOf, type EditableHistory, type EditableStream, type ObjectEvent } from './editable-history.ts';
import type { PlantedFault } from './planted-fault.ts';

interface Placed {
  stream: EditableStream;
  at: number;
  event: ObjectEvent;
}

export const watchFaults: readonly PlantedFault[] = [
  { name: 'an event is dropped', rule: 'watch-gap', plant: (history) => remove(history, inTheMiddle(history)) },
  {
    name: 'the event of leaving a selection is dropped',
    rule: 'watch-gap',
    plant: (history) =>
      remove(
        history,
        inTheMiddle(history).filter(
          ({ event }) => event.type === 'DELETED' && history.rowAt(event.object.revision)?.type === 'U',
        ),
      ),
  },
  {
    name: 'the first event after a resumption is dropped',
    rule: 'watch-gap',
    plant: (history) =>
      remove(
        history,
        inTheMiddle(history).filter(
          ({ stream, at }) =>
            stream.stream.start.type === 'revision' && stream.stream.start.list === undefined && at === 0,
        ),
      ),
  },
  {
    name: 'an event is told twice',
    rule: 'watch-order',
    plant(history) {
      const one = history.any(events(history));
      one?.stream.events.splice(one.at + 1, 0, one.event);
      return one !== undefined;
    },
  },
  {
    name: 'two events are told in the wrong order',
    rule: 'watch-order',
    plant(history) {
      const one = history.any(
        inTheMiddle(history).filter(({ stream, at }) => stream.events[at + 1]?.type !== 'BOOKMARK'),
      );
      if (one === undefined) return false;
      const { events: all } = one.stream;
      [all[one.at], all[one.at + 1]] = [all[one.at + 1]!, all[one.at]!];
      return true;
    },
  },
  {
    name: 'a resumed watch repeats the last event',
    rule: 'watch-order',
    plant(history) {
      const found = history.streams.flatMap((stream, i) => {
        const before = history.streams[i - 1];
        const last = before?.watcher === stream.watcher ? history.placed(before).at(-1)?.event : undefined;
        const { start } = stream.stream;
        return last === undefined ||
          start.type !== 'revision' ||
          start.revision < last.object.revision ||
          stream.stream.ended.type === 'expired'
          ? []
          : [{ stream, last }];
      });
      const one = history.any(found);
      one?.stream.events.unshift(one.last);
      return one !== undefined;
    },
  },
  {
    name: 'a watch is told of what its selector does not take',
    rule: 'watch-selector',
    plant(history) {
      const found = history.continued().flatMap((stream) => {
        const first = history.placed(stream)[0];
        const { start } = stream.stream;
        if (first?.at !== 0 || start.type !== 'revision') return [];
        const isOurs = (incarnation: number): boolean =>
          history.history.incarnations.some(({ id, model }) => id === incarnation && model === stream.watcher.model);
        const row = history.log.find(
          ({ revision, incarnation, new: state }) =>
            state !== null &&
            isOurs(incarnation) &&
            revision > start.revision &&
            revision < first.event.object.revision,
        );
        return row === undefined
          ? []
          : [
              {
                stream,
                event: { type: 'ADDED' as const, object: objectOf(row, row.new!), received: first.event.received },
              },
            ];
      });
      const one = history.any(found);
      one?.stream.events.unshift(one.event);
      return one !== undefined;
    },
  },
  {
    name: 'an event has the wrong type',
    rule: 'watch-event',
    plant(history) {
      const one = history.any(events(history));
      if (one !== undefined) one.event.type = one.event.type === 'ADDED' ? 'MODIFIED' : 'ADDED';
      return one !== undefined;
    },
  },
  {
    name: 'an event shows the object as it was before',
    rule: 'watch-event',
    plant(history) {
      const one = history.any(events(history).filter(({ event }) => event.type === 'MODIFIED'));
      const row = one && history.rowAt(one.event.object.revision);
      if (one === undefined || row?.old == null) return false;
      one.event.object = objectOf(row, row.old);
      return true;
    },
  },
  {
    name: 'what leaves a selection is shown as it is now',
    rule: 'watch-event',
    plant(history) {
      const one = history.any(
        events(history).filter(
          ({ event }) => event.type === 'DELETED' && history.rowAt(event.object.revision)?.type === 'U',
        ),
      );
      const row = one && history.rowAt(one.event.object.revision);
      if (one === undefined || row?.new == null) return false;
      one.event.object = objectOf(row, row.new);
      return true;
    },
  },
  {
    name: 'an event of a change that was never made',
    rule: 'watch-event',
    plant(history) {
      const burnt = history.log.findIndex((row, i) => i > 0 && row.revision > history.log[i - 1]!.revision + 1);
      const revision = (history.log[burnt]?.revision ?? 1) - 1;
      const one = history.any(events(history).filter(({ event }) => event.object.revision < revision));
      const next = one?.stream.events[one.at + 1];
      if (
        burnt === -1 ||
        one === undefined ||
        next === undefined ||
        next.type === 'BOOKMARK' ||
        next.object.revision <= revision
      )
        return false;
      one.stream.events.splice(one.at + 1, 0, { ...one.event, object: { ...one.event.object, revision } });
      return true;
    },
  },
  {
    name: 'an event is received before its change was asked for',
    rule: 'read-future',
    plant(history) {
      const one = history.any(
        events(history).filter(({ event }) => history.makerOf(history.rowAt(event.object.revision)!) !== undefined),
      );
      const maker = one && history.makerOf(history.rowAt(one.event.object.revision)!);
      if (one === undefined || maker === undefined) return false;
      one.event.received =
        Math.min(
          ...history.operations.flatMap((each) =>
            'sent' in each && each.sent.marker === maker.sent.marker ? each.invoked : [],
          ),
        ) - 1;
      return true;
    },
  },
  {
    name: 'a bookmark comes before the event it covers',
    rule: 'watch-bookmark',
    plant(history) {
      const one = history.any(events(history));
      one?.stream.events.splice(one.at, 0, {
        type: 'BOOKMARK',
        revision: one.event.object.revision,
        received: one.event.received,
      });
      return one !== undefined;
    },
  },
  {
    name: 'a bookmark covers an event that never comes',
    rule: 'watch-bookmark',
    plant(history) {
      const one = history.any(events(history).filter(({ stream, at }) => stream.events[at + 1]?.type === 'BOOKMARK'));
      one?.stream.events.splice(one.at, 1);
      return one !== undefined;
    },
  },
  {
    name: 'a bookmark goes back',
    rule: 'watch-bookmark',
    plant(history) {
      const one = history.any(events(history));
      one?.stream.events.splice(one.at + 1, 0, {
        type: 'BOOKMARK',
        revision: one.event.object.revision - 1,
        received: one.event.received,
      });
      return one !== undefined;
    },
  },
  {
    name: 'an object is missing at the beginning of a watch',
    rule: 'watch-start',
    plant: (history) => remove(history, initial(history)),
  },
  {
    name: 'an object is told twice at the beginning of a watch',
    rule: 'watch-start',
    plant(history) {
      const one = history.any(initial(history));
      one?.stream.events.unshift(one.event);
      return one !== undefined;
    },
  },
  {
    name: '410 for history that is kept',
    rule: 'watch-expired',
    plant(history) {
      const kept = history.history.compactions.at(-1)!.compacted;
      const stream = history.any(
        history
          .continued()
          .filter(
            ({ stream: { start, ended } }) =>
              start.type === 'revision' && start.revision >= kept && ended.type !== 'live',
          ),
      );
      if (stream === undefined || history.history.modelChanges.length > 1) return false;
      const { at } = stream.stream.ended;
      stream.stream.ended = { type: 'expired', at, status: 410, reason: 'Expired' } satisfies StreamEnd;
      return true;
    },
  },
  {
    name: '504 for a revision that had been seen',
    rule: 'watch-expired',
    plant(history) {
      const stream = history.any(
        history
          .continued()
          .filter(
            ({ stream: { start, ended, opened } }) =>
              start.type === 'revision' &&
              ended.type !== 'live' &&
              opened > (history.rowAt(start.revision)?.recorded ?? Infinity),
          ),
      );
      if (stream === undefined) return false;
      const { at } = stream.stream.ended;
      stream.stream.ended = { type: 'refused', at, status: 504, reason: 'Timeout', tooLarge: true } satisfies StreamEnd;
      return true;
    },
  },
  {
    name: 'a watcher falls silent and stays behind',
    rule: 'watch-behind',
    plant(history) {
      const stream = history.any(
        history.streams.filter((each) => each.stream.ended.type === 'live' && history.placed(each).length > 1),
      );
      if (stream === undefined) return false;
      const placed = history.placed(stream);
      const last =
        stream.stream.start.type === 'objects'
          ? placed.findLast(({ at }) => stream.events.slice(0, at).some((event) => event.type === 'BOOKMARK'))
          : placed.at(-1);
      if (last !== undefined) stream.events.splice(last.at);
      return last !== undefined;
    },
  },
  {
    name: 'a watcher goes on further than it has heard',
    rule: 'recording',
    plant(history) {
      const stream = history.any(
        history
          .continued()
          .filter(
            ({ stream: { start } }, i, all) =>
              start.type === 'revision' && start.list === undefined && all[i]!.watcher.streams[0] !== all[i]!.stream,
          ),
      );
      if (stream?.stream.start.type !== 'revision') return false;
      stream.stream.start.revision += 1000;
      stream.events.length = 0;
      return true;
    },
  },
];

/** Events of changes, without a watch's initial objects. */
function events(history: EditableHistory): Placed[] {
  return history.streams.flatMap((stream) => {
    const end =
      stream.stream.start.type === 'revision' ? -1 : stream.events.findIndex((event) => event.type === 'BOOKMARK');
    if (end === -1 && stream.stream.start.type === 'objects') return [];
    return history.placed(stream).flatMap(({ at, event }) => (at > end ? [{ stream, at, event }] : []));
  });
}

/** Events that another follows, without a bookmark in between. */
function inTheMiddle(history: EditableHistory): Placed[] {
  return events(history).filter(
    ({ stream, at }) => at + 1 < stream.events.length && stream.events[at + 1]!.type !== 'BOOKMARK',
  );
}

/** The initial objects of a watch. */
function initial(history: EditableHistory): Placed[] {
  return history.streams.flatMap((stream) => {
    const end =
      stream.stream.start.type === 'objects' ? stream.events.findIndex((event) => event.type === 'BOOKMARK') : -1;
    return history.placed(stream).flatMap(({ at, event }) => (at < end ? [{ stream, at, event }] : []));
  });
}

function remove(history: EditableHistory, places: readonly Placed[]): boolean {
  const one = history.any(places);
  one?.stream.events.splice(one.at, 1);
  return one !== undefined;
}
