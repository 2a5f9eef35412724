import { describe, expect, test } from '@jest/globals';
import type { Selector } from '#pkg/apimachinery/index';
import type { Change } from '#pkg/storage/index';
import type { ObjectText } from '../rest/served-resource.ts';
import { ChangeEvent } from './change-event.ts';
import { compileEventFilter } from './bus-watcher.ts';

const none: Selector = { labels: [], fields: [] };
const red: Selector = { labels: [{ key: 'color', operator: 'In', values: ['red'] }], fields: [] };

function textOf(color: string | undefined): string {
  return JSON.stringify({ metadata: { name: 'x', ...(color === undefined ? {} : { labels: { color } }) } });
}

function event(
  type: Change['type'],
  color: string | undefined,
  old: string | undefined,
  more: Partial<Change> = {},
): ChangeEvent {
  const before = old === undefined ? {} : { old: { revision: 1, body: textOf(old), fingerprint: 'f' } };
  return new ChangeEvent({
    revision: 2,
    modelId: 1,
    type,
    namespace: 'ns',
    name: 'x',
    body: textOf(color),
    fingerprint: 'f',
    ...before,
    ...more,
  });
}

describe('compileEventFilter', () => {
  test.each([
    ['a new match', event('create', 'red', undefined), { type: 'ADDED', state: 'current' }],
    ['a new object that does not match', event('create', 'blue', undefined), undefined],
    ['an object that still matches', event('update', 'red', 'red'), { type: 'MODIFIED', state: 'current' }],
    ['an object that starts to match', event('update', 'red', 'blue'), { type: 'ADDED', state: 'current' }],
    [
      'an object that stops matching is shown with its old state',
      event('update', 'blue', 'red'),
      { type: 'DELETED', state: 'previous' },
    ],
    ['an object that never matched', event('update', 'blue', 'blue'), undefined],
    [
      'a deleted object that matched is shown in its final state, whatever that is',
      event('delete', 'blue', 'red'),
      { type: 'DELETED', state: 'current' },
    ],
    [
      'a deleted object that never matched, although its final state would match',
      event('delete', 'red', 'blue'),
      undefined,
    ],
  ])('%s', (_reason, changed, expected) => {
    expect(compileEventFilter(undefined, red)(changed)).toEqual(expected);
  });

  test('without a selector nothing is parsed', () => {
    const unreadable = event('update', undefined, undefined, { body: 'not JSON' });
    expect(compileEventFilter('', none)(unreadable)).toEqual({ type: 'MODIFIED', state: 'current' });
  });

  test('objects of other namespaces and other names are not parsed', () => {
    const unreadable = event('update', undefined, undefined, { body: 'not JSON' });
    const index = {
      name: 'metadata.name',
      path: 'metadata.name',
      type: 'string' as const,
      multi: false,
      unique: false,
      nullable: false,
    };
    expect(compileEventFilter('other', red)(unreadable)).toBeUndefined();
    expect(
      compileEventFilter(undefined, { labels: [], fields: [{ index, operator: 'In', values: ['y'] }] })(unreadable),
    ).toBeUndefined();
  });
});

describe('ChangeEvent', () => {
  test('encodes an object once per version, with the revision of the change', () => {
    let made = 0;
    const shown = (text: string): ObjectText => ({ text, managed: '' });
    const reader = {
      text: ({ body, revision }: { body: string; revision: number }): ObjectText => {
        made += 1;
        return shown(`${revision} ${body.includes('red') ? 'red' : 'blue'}`);
      },
    };
    const changed = event('update', 'blue', 'red');
    expect([changed.current(reader).text(), changed.current(reader).text(), changed.previous(reader).text()]).toEqual(
      ['2 blue', '2 blue', '2 red'].map(shown),
    );
    expect(made).toBe(2);
    expect(changed.current({ text: () => shown('other') }).text()).toEqual(shown('other'));
  });
});
