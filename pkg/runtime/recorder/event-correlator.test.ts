import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import type { AnyObject } from '#pkg/apimachinery/index';
import { EventCorrelator, type CorrelatedEvent } from './event-correlator.ts';
import type { EventFacts } from './event-sink.ts';

const post = (name: string, namespace?: string): AnyObject => ({
  apiVersion: 'blog.example.com/v1',
  kind: 'Post',
  metadata: { name, uid: `uid of ${name}`, resourceVersion: '7', ...(namespace === undefined ? {} : { namespace }) },
});
const published: EventFacts = { type: 'Normal', reason: 'Published', message: 'it is there' };

function newCorrelator(): {
  record: (object: AnyObject, facts?: Partial<EventFacts>) => CorrelatedEvent | undefined;
  wait: (ms: number) => void;
} {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const correlator = new EventCorrelator(() => now);
  return {
    record: (object, facts) => correlator.correlate('posts', 'host-1', object, { ...published, ...facts }),
    wait: (ms) => void (now += ms),
  };
}

describe('an event', () => {
  test('names its object, its reason and its source', () => {
    const { event } = newCorrelator().record(post('a', 'team'))!;
    expect(event).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'team', name: expect.stringMatching(/^a\.[0-9a-f]{16}$/) },
      involvedObject: {
        apiVersion: 'blog.example.com/v1',
        kind: 'Post',
        namespace: 'team',
        name: 'a',
        uid: 'uid of a',
        resourceVersion: '7',
      },
      type: 'Normal',
      reason: 'Published',
      message: 'it is there',
      source: { component: 'posts' },
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
      reportingComponent: 'posts',
      reportingInstance: 'host-1',
    });
  });

  test('of a cluster-scoped object is in the namespace default', () => {
    expect(newCorrelator().record(post('a'))!.event.metadata.namespace).toBe('default');
  });

  test.each([
    ['System:View', /^system-view\.[0-9a-f]{16}$/],
    ['-.-', /^object\.[0-9a-f]{16}$/],
    ['a'.repeat(253), /^a{200}\.[0-9a-f]{16}$/],
  ])('of %s has a valid name', (name, form) => {
    expect(newCorrelator().record(post(name))!.event.metadata.name).toMatch(form);
  });

  test('contains no text that cannot be stored', () => {
    const { event } = newCorrelator().record(post('a'), { message: `a\0b\uD800${'c'.repeat(2000)}` })!;
    expect(event.message).toBe(`ab\uFFFD${'c'.repeat(1020)}`);
  });
});

test('a repetition increases the count of the same event', () => {
  const { record, wait } = newCorrelator();
  const first = record(post('a'))!;
  wait(90_000);
  const second = record(post('a'))!;
  expect(second.key).toBe(first.key);
  expect(second.state).toBe(first.state);
  expect(second.event).toMatchObject({
    metadata: { name: first.event.metadata.name },
    count: 2,
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:01:30Z',
  });
});

test('another object, type, reason or message makes another event', () => {
  const { record } = newCorrelator();
  const recorded = [
    record(post('a')),
    record(post('b')),
    record(post('a'), { type: 'Warning' }),
    record(post('a'), { reason: 'Hidden' }),
    record(post('a'), { message: 'it is here' }),
  ];
  expect(new Set(recorded.map((each) => each!.key)).size).toBe(5);
  expect(recorded.map((each) => each!.event.count)).toEqual([1, 1, 1, 1, 1]);
});

test('more than ten messages of one kind become one event, until ten minutes without one', () => {
  const { record, wait } = newCorrelator();
  const recorded = Array.from({ length: 13 }, (_, i) => record(post('a'), { message: `message ${i}` })!);
  expect(new Set(recorded.map(({ key }) => key)).size).toBe(11);
  expect(recorded.at(-1)!.event).toMatchObject({ message: '(combined from similar events): message 12', count: 3 });
  wait(600_001);
  expect(record(post('a'), { message: 'message 20' })!.event.message).toBe('message 20');
});

test('events of one object are limited to a burst, then to one in five minutes; all are counted', () => {
  const { record, wait } = newCorrelator();
  const recorded = Array.from({ length: 30 }, () => record(post('a')));
  expect(recorded.filter((each) => each !== undefined)).toHaveLength(25);
  expect(record(post('b'))).toBeDefined();
  wait(300_000);
  expect(record(post('a'))!.event.count).toBe(31);
  expect(record(post('a'))).toBeUndefined();
});

test('dropped text is not kept in memory', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { record } = newCorrelator();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 100; i += 1) record(post('a'), { reason: `Long${i}`, message: `${i}${'x'.repeat(500_000)}` });
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
  expect(record(post('b'))).toBeDefined();
});
