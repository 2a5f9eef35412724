import { afterEach, expect, test } from '@jest/globals';
import {
  newExpired,
  newServiceUnavailable,
  type AnyObject,
  type ClientEvent,
  type ObjectList,
} from '#pkg/apimachinery/index';
import { waitMs, pollUntil } from '../../testenv/faults/poll-until.ts';
import { Reflector, type ReflectorSink } from './reflector.ts';
import { ScriptedApi, scriptedObject, scriptedType, type ScriptedWatch } from './scripted-api.ts';

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const backoff = { baseMs: 1, maxMs: 600_000 };
const unreachable: ScriptedWatch = { refusal: newServiceUnavailable('away') };
let running: Reflector<AnyObject> | undefined;

afterEach(() => running?.stop());

function added(revision: number): ClientEvent<AnyObject> {
  return { type: 'ADDED', object: scriptedObject(`n-${revision}`, revision) };
}

/** Records all calls of a sink as text, and waits for a number of them. */
function recordCalls(apply: (event: ClientEvent<AnyObject>) => void = () => {}): {
  texts: string[];
  sink: ReflectorSink<AnyObject>;
  until: (text: string) => Promise<void>;
} {
  const texts: string[] = [];
  const note = (text: string): void => void texts.push(text);
  const sink: ReflectorSink<AnyObject> = {
    replace: (objects, revision) => note(`${objects.length} at ${revision}`),
    apply: (event) => {
      apply(event);
      note(event.type === 'BOOKMARK' ? `at ${event.resourceVersion}` : event.object.metadata.name);
    },
    failing: (problem) => note(problem === undefined ? 'well' : 'failing'),
  };
  return {
    texts,
    sink,
    until: (text) => pollUntil(() => texts.includes(text), waitMs(), `the sink to hear "${text}"`),
  };
}

function follow(api: ScriptedApi, sink: ReflectorSink<AnyObject>): void {
  running = new Reflector({ client: api.client, type: scriptedType, sink, log, backoff });
  running.start();
}

const empty = { resourceVersion: '1', items: [] };

test('a watch that ends is resumed at its last event or bookmark, and is closed', async () => {
  const api = new ScriptedApi({
    lists: [empty],
    watches: [
      { events: [added(2)] },
      { events: [{ type: 'BOOKMARK', resourceVersion: '9' }] },
      { events: [added(10)], end: 'open' },
    ],
  });
  const { texts, sink, until } = recordCalls();
  follow(api, sink);
  await until('n-10');
  expect(api.asked).toEqual(['list', '1', '2', '9']);
  expect(texts).toEqual(['0 at 1', 'n-2', 'at 9', 'n-10']);
  expect(api.open).toBe(1);
  await running!.stop();
  expect(api.open).toBe(0);
});

test('an expired history causes a new list, and is not a problem', async () => {
  const expired: ScriptedWatch = { refusal: newExpired('too old') };
  const api = new ScriptedApi({
    lists: [empty, empty, empty, { ...empty, resourceVersion: '5' }],
    watches: [expired, expired, expired, { events: [added(6)], end: 'open' }],
  });
  const { texts, sink, until } = recordCalls();
  follow(api, sink);
  await until('n-6');
  expect(api.asked).toEqual(['list', '1', 'list', '1', 'list', '1', 'list', '5']);
  expect(texts).not.toContain('failing');
});

test('the third failure in a row is a problem, until the next watch begins', async () => {
  const api = new ScriptedApi({ lists: [empty], watches: [unreachable, unreachable, unreachable, { end: 'open' }] });
  const { texts, sink, until } = recordCalls();
  follow(api, sink);
  await until('well');
  expect(texts).toEqual(['0 at 1', 'failing', 'well']);
});

test('an event that the sink refused causes a list, because it would not be sent again', async () => {
  let failures = 0;
  const refuseOnce = (): void => {
    failures += 1;
    if (failures === 1) throw new Error('cannot take it in');
  };
  const api = new ScriptedApi({
    lists: [empty, { resourceVersion: '2', items: [scriptedObject('n-2', 2)] }],
    watches: [{ events: [added(2)] }, { events: [added(3)], end: 'open' }],
  });
  const { texts, sink, until } = recordCalls(refuseOnce);
  follow(api, sink);
  await until('n-3');
  expect(texts).toEqual(['0 at 1', '1 at 2', 'n-3']);
});

test('lists that the sink refuses are a problem, until one succeeds', async () => {
  const lists = Array.from({ length: 4 }, () => empty);
  const api = new ScriptedApi({ lists, watches: [{ end: 'open' }] });
  const { texts, sink, until } = recordCalls();
  let refusals = 0;
  const replace: typeof sink.replace = (objects, revision) => {
    refusals += 1;
    if (refusals <= 3) throw new Error('cannot take it in');
    sink.replace(objects, revision);
  };
  follow(api, { ...sink, replace });
  await until('well');
  expect(texts).toEqual(['failing', '0 at 1', 'well']);
});

test('the next watch after a success is resumed soon, regardless of earlier failures', async () => {
  const rounds = Array.from({ length: 30 }, (_, i): ScriptedWatch => ({ events: [added(i + 2)] }));
  const api = new ScriptedApi({ lists: [empty], watches: [unreachable, unreachable, unreachable, ...rounds] });
  const { sink, until } = recordCalls();
  follow(api, sink);
  // With unlimited doubling the last wait would take days.
  await until('n-31');
});

test('a long list is read in chunks, and reported when it is complete', async () => {
  const part = (name: string, next?: string): ObjectList<AnyObject> => ({
    resourceVersion: '7',
    items: [scriptedObject(name, 5)],
    ...(next === undefined ? {} : { continue: next }),
  });
  const api = new ScriptedApi({
    lists: [part('a', 'a'), part('b', 'b'), part('c')],
    watches: [{ end: 'open', events: [added(8)] }],
  });
  const { texts, sink, until } = recordCalls();
  let names: string[] = [];
  follow(api, {
    ...sink,
    replace: (objects, revision) => {
      names = objects.map(({ metadata }) => metadata.name);
      sink.replace(objects, revision);
    },
  });
  await until('n-8');
  expect(api.asked).toEqual(['list', 'list after a', 'list after b', '7']);
  expect(texts).toEqual(['3 at 7', 'n-8']);
  expect(names).toEqual(['a', 'b', 'c']);
});

test('after a stop nothing is reported, not even a list in progress', async () => {
  const api = new ScriptedApi({ lists: [{ ...empty, continue: 'a' }, empty] });
  const { texts, sink } = recordCalls();
  follow(api, sink);
  await running!.stop();
  expect(texts).toEqual([]);
});
