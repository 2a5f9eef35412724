import { expect, test } from '@jest/globals';
import type { Change, ChangeFeed, ChangeListener } from '../../change.ts';
import { MatchBounds } from './match-bounds.ts';
import type { Table } from '../table/table.ts';

const query = { selector: { labels: [], fields: [] }, sort: [] };

function tableOf(id: number): Table {
  return {
    id,
    resource: { group: '', resource: `r${id}` },
    namespaced: false,
    shape: 1,
    replaces: 0,
    columns: [],
    ownersIndexed: true,
    limited: false,
    hasManaged: true,
    computed: undefined,
  };
}

/** Creates bounds, and a function that reports deletions in a model. */
function begin(): { bounds: MatchBounds; lose: (modelId: number, count: number) => void } {
  let tell: ChangeListener = () => {};
  const feed: Pick<ChangeFeed, 'subscribe'> = {
    subscribe: (listener) => {
      tell = listener;
      return () => {};
    },
  };
  const change = (modelId: number): Change => ({
    revision: 1,
    modelId,
    type: 'delete',
    namespace: '',
    name: 'a',
    body: '',
    fingerprint: '',
  });
  return {
    bounds: new MatchBounds(feed as ChangeFeed),
    lose: (modelId, count) =>
      tell(
        Array.from({ length: count }, () => change(modelId)),
        1,
      ),
  };
}

test('a bound is valid until too many objects were removed', () => {
  const { bounds, lose } = begin();
  bounds.counting(tableOf(1), query)(12);
  lose(1, 1);
  lose(2, 100);
  expect(bounds.exceeds(tableOf(1), query, 10)).toBe(true);
  lose(1, 1);
  expect(bounds.exceeds(tableOf(1), query, 10)).toBe(false);
});

test('with very many models the least active are removed, and their losses are never underestimated', () => {
  const { bounds, lose } = begin();
  lose(1, 5);
  const found = bounds.counting(tableOf(1), query);
  lose(1, 3);
  for (let id = 2; id < 3000; id += 1) lose(id, 1);
  found(13);
  expect(bounds.exceeds(tableOf(1), query, 10)).toBe(false);
  bounds.counting(tableOf(1), query)(13);
  expect(bounds.exceeds(tableOf(1), query, 10)).toBe(true);
  lose(1, 3);
  expect(bounds.exceeds(tableOf(1), query, 10)).toBe(false);
});
