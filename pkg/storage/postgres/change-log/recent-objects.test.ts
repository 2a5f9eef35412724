import { expect, test } from '@jest/globals';
import type { Change, ChangeListener } from '../../change.ts';
import { RecentObjects } from './recent-objects.ts';

const table = { id: 7, computed: undefined };

/** Recent objects, and a function that reports a change to them. */
function begin(): { recent: RecentObjects; tell: (name: string, change?: Partial<Change>) => void } {
  let listen: ChangeListener = () => {};
  const recent = new RecentObjects({
    subscribe: (listener) => {
      listen = listener;
      return () => (listen = () => {});
    },
  });
  const common = { modelId: table.id, type: 'update', namespace: 'n', fingerprint: 'f', body: '{}' } as const;
  let revision = 0;
  const tell = (name: string, change: Partial<Change> = {}): void => {
    revision += 1;
    listen([{ ...common, name, revision, ...change }], revision);
  };
  return { recent, tell };
}

const keyOf = (name: string): { namespace: string; name: string } => ({ namespace: 'n', name });

test('an object is as its last change left it, until it is deleted', () => {
  const { recent, tell } = begin();
  expect(recent.find(table, keyOf('a'))).toBeUndefined();
  tell('a', { type: 'create' });
  tell('a', { body: '{"b":1}', managed: '[]', old: { revision: 1, body: '{}', fingerprint: 'f' } });
  expect(recent.find(table, keyOf('a'))).toEqual({
    ...keyOf('a'),
    revision: 2,
    body: '{"b":1}',
    managed: '[]',
    fingerprint: 'f',
  });
  expect(recent.find({ ...table, id: 8 }, keyOf('a'))).toBeUndefined();
  expect(recent.find(table, { namespace: '', name: 'a' })).toBeUndefined();
  tell('a', { type: 'delete' });
  expect(recent.find(table, keyOf('a'))).toBeUndefined();
});

test('a table with computed keys has none: a write needs the keys, too', () => {
  const { recent, tell } = begin();
  tell('a');
  expect(recent.find({ ...table, computed: [] }, keyOf('a'))).toBeUndefined();
});

test('the objects that changed last are kept, up to 8 MiB, and none above 64 KiB', () => {
  const { recent, tell } = begin();
  const body = 'x'.repeat(64 << 10);
  for (let i = 0; i < 128; i += 1) tell(`o${i}`, { body });
  tell('o0', { body });
  tell('more', { body });
  const kept = (name: string): boolean => recent.find(table, keyOf(name)) !== undefined;
  expect(['o0', 'o1', 'o2', 'o127', 'more'].map(kept)).toEqual([true, false, true, true, true]);
  tell('more', { body: `${body}x` });
  expect(kept('more')).toBe(false);
  recent.forgetAll();
  expect(kept('o127')).toBe(false);
  tell('o127');
  recent.close();
  tell('late');
  expect(['o127', 'late'].map(kept)).toEqual([false, false]);
});
