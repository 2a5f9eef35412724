import { expect, test } from '@jest/globals';
import type { AnyObject, ResourceType } from '#pkg/apimachinery/index';
import { controllerFor, type ControllerBuilder } from '../builder/controller-builder.ts';
import { scriptedObject, scriptedType } from '../cache/scripted-api.ts';
import type { ObjectEvent } from '../event/object-event.ts';
import { enqueueMapped, type EventHandler } from '../handler/event-handler.ts';
import type { Predicate } from '../predicate/predicate.ts';
import { TerminalError } from '../reconcile/reconciler.ts';
import { recordLostEvents } from './record-lost-events.ts';
import { ReconcileFailures } from './reconcile-failures.ts';

const object = scriptedObject('a', 1);
const created: ObjectEvent = { type: 'create', object };
const deleted: ObjectEvent = { type: 'delete', object, isGuess: false };
const isAny: Predicate = () => true;
const isNone: Predicate = () => false;
const throws = (): never => {
  throw new TypeError('no');
};

/** The watches of a controller with a function that sends one of them an event; `failing` returns the failures. */
function watching(build: (builder: ControllerBuilder<AnyObject>) => ControllerBuilder<AnyObject>): {
  failures: ReconcileFailures;
  send: (position: number, event: ObjectEvent) => void;
  failing: () => string[];
} {
  const failures = new ReconcileFailures();
  const { name: controller, watches } = build(controllerFor(scriptedType)).reconcile(async () => undefined);
  const noticed = watches.map((watch, position) => recordLostEvents({ watch, position, controller, failures }));
  const send = (position: number, event: ObjectEvent): void => {
    const { predicates, handler } = noticed[position]!;
    try {
      if (predicates.every((predicate) => predicate(event))) handler(event);
    } catch {
      // The cache logs the error.
    }
  };
  const failing = (): string[] => {
    const { summary } = failures;
    return summary === undefined ? [] : [`${summary.objects} ${summary.last.request}`];
  };
  return { failures, send, failing };
}

/** Throws, passes or drops: each event uses the next predicate. */
function oneByOne(...predicates: readonly Predicate[]): Predicate {
  const left = [...predicates];
  return (event) => left.shift()!(event);
}

const lost = [`1 ${scriptedType.plural} /a`];

test('an event that a predicate loses is reported until one passes', () => {
  const { send, failing } = watching((builder) => builder.withPredicate(oneByOne(throws, isAny)));
  send(0, created);
  expect(failing()).toEqual(lost);
  send(0, created);
  expect(failing()).toEqual([]);
});

test('another watch of the same type does not hide it, nor does one of another group', () => {
  const other: ResourceType = { ...scriptedType, group: 'other.example.com' };
  const map: EventHandler = enqueueMapped(() => []);
  const { send, failing } = watching((builder) =>
    builder.withPredicate(throws).watches(scriptedType, map).watches(other, map),
  );
  for (const position of [0, 1, 2]) send(position, created);
  expect(failing()).toEqual(lost);
});

test.each<[string, Predicate[]]>([
  ['is dropped', [oneByOne(throws, isNone)]],
  ['is dropped by a predicate before it', [oneByOne(isAny, isNone), throws]],
  ['is dropped by it, after another passed it', [isAny, oneByOne(throws, isNone)]],
])('an event that a predicate loses is still reported if the next one %s', (_case, predicates) => {
  const { send, failing } = watching((builder) => builder.withPredicate(...predicates));
  send(0, created);
  send(0, created);
  expect(failing()).toEqual(lost);
});

test('an event that a handler loses is reported until one passes it, or a deletion is dropped', () => {
  const handlers: EventHandler[] = [throws, throws, () => [], throws];
  const predicate = oneByOne(isAny, isAny, isAny, isAny, isNone);
  const { send, failing } = watching((builder) =>
    builder.watches(scriptedType, (event) => handlers.shift()!(event), { predicates: [predicate] }),
  );
  const failureCounts = [created, created, created, created, deleted].map((event) => {
    send(1, event);
    return failing().length;
  });
  expect(failureCounts).toEqual([1, 1, 0, 1, 0]);
});

test('a terminal failure is cleared when its object is deleted, even if the event is dropped', () => {
  const { failures, send, failing } = watching((builder) =>
    builder.withPredicate(isNone).watches(
      scriptedType,
      enqueueMapped(() => []),
    ),
  );
  const note = (error: Error): void =>
    failures.note({ controller: scriptedType.plural, request: '/a', attempt: 1, error, isLasting: true });
  note(new TerminalError('never'));
  send(1, deleted);
  send(0, created);
  expect(failing()).toEqual(['1 /a']);
  send(0, deleted);
  expect(failing()).toEqual([]);
  // It continues, or is retried.
  note(new Error('late'));
  send(0, deleted);
  expect(failing()).toEqual(['1 /a']);
});

test('a controller that is started again has no losses yet', () => {
  const { failures, send, failing } = watching((builder) => builder.withPredicate(throws));
  send(0, created);
  failures.clearAll(scriptedType.plural);
  expect(failing()).toEqual([]);
});
