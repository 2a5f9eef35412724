import type { ListAnswer, ListOperation, Operation } from '../../history.ts';
import { isGet, objectOf, type EditableHistory } from './editable-history.ts';
import type { PlantedFault } from './planted-fault.ts';

type AnsweredList = ListOperation & { outcome: { type: 'ok' } & ListAnswer };

export const readFaults: readonly PlantedFault[] = [
  {
    name: 'a read shows an object as it was before an acknowledged write',
    rule: 'read-stale',
    plant(history) {
      const get = history.quietGet();
      const before = get && history.rowsOf(get.namespace, get.name).at(-2);
      if (get === undefined || before === undefined || before.type === 'D') return false;
      get.outcome = { type: 'ok', object: objectOf(before, before.new!) };
      return true;
    },
  },
  {
    name: 'a read shows a write before it was asked for',
    rule: 'read-future',
    plant(history) {
      const found = history.operations.filter(isGet).flatMap((get) => {
        const later = history
          .rowsOf(get.namespace, get.name)
          .find((row) => row.type !== 'D' && (history.makerOf(row)?.invoked ?? 0) > get.completed);
        return later === undefined || later.new === null ? [] : [{ get, object: objectOf(later, later.new) }];
      });
      const one = history.any(found);
      if (one !== undefined) one.get.outcome = { type: 'ok', object: one.object };
      return one !== undefined;
    },
  },
  {
    name: 'a read shows a body that was never written',
    rule: 'read-content',
    plant(history) {
      const get = history.anyOperation(isGet, ({ outcome }) => outcome.type === 'ok');
      if (get?.outcome.type !== 'ok') return false;
      get.outcome.object.labels = { ...get.outcome.object.labels, color: 'other' };
      return true;
    },
  },
  {
    name: 'a read shows a revision that its object never had',
    rule: 'read-content',
    plant(history) {
      const get = history.anyOperation(isGet, ({ outcome }) => outcome.type === 'ok');
      if (get?.outcome.type !== 'ok') return false;
      get.outcome.object.revision -= 1;
      return true;
    },
  },
  {
    name: 'a read does not find what is there',
    rule: 'not-found-unjustified',
    plant(history) {
      const get = history.quietGet();
      if (get !== undefined) get.outcome = { type: 'refused', status: 404, reason: 'NotFound' };
      return get !== undefined;
    },
  },
  {
    name: 'a list is of an old revision',
    rule: 'read-stale',
    plant(history) {
      const list = anyList(
        history,
        ({ paging, invoked }) =>
          paging.type !== 'chunk' && history.log.filter(({ recorded }) => recorded < invoked).length > 2,
      );
      const old =
        list &&
        history.log.findLast(
          ({ recorded }, i) => (history.log[i + 1]?.recorded ?? Infinity) < list.invoked && recorded < list.invoked,
        );
      if (list === undefined || old === undefined) return false;
      list.outcome.revision = old.revision;
      return true;
    },
  },
  {
    name: 'a list is older than was asked for',
    rule: 'read-stale',
    plant(history) {
      const list = anyList(history);
      if (list !== undefined) list.atLeast = list.outcome.revision + 1;
      return list !== undefined;
    },
  },
  {
    name: 'a list tells a revision that was never reached',
    rule: 'read-future',
    plant(history) {
      const list = anyList(history);
      if (list !== undefined) list.outcome.revision = history.log.at(-1)!.revision + 1;
      return list !== undefined;
    },
  },
  {
    name: 'a list misses an object',
    rule: 'list-items',
    plant(history) {
      const list = anyList(history, ({ outcome, paging }) => outcome.items.length > 1 && paging.type !== 'chunk');
      return list?.outcome.items.splice(1, 1).length === 1;
    },
  },
  {
    name: 'a list has an object that its selector does not take',
    rule: 'list-items',
    plant(history) {
      const list = anyList(
        history,
        ({ paging, selector }) => paging.type === 'all' && selector.labels.length + selector.fields.length > 0,
      );
      const other = history.any(
        history.finalStates[0]!.objects.filter(
          ({ name }) => list !== undefined && !list.outcome.items.some((item) => item.name === name),
        ),
      );
      if (list === undefined || other === undefined) return false;
      list.outcome.items.push(other);
      return true;
    },
  },
  {
    name: 'a list has an object twice',
    rule: 'list-items',
    plant(history) {
      const list = anyList(history, ({ outcome }) => outcome.items.length > 0);
      list?.outcome.items.push(list.outcome.items[0]!);
      return list !== undefined;
    },
  },
  {
    name: 'a list has an object as it was before',
    rule: 'list-items',
    plant(history) {
      const found = lists(history).flatMap(({ outcome }) =>
        outcome.items.flatMap((item) => ({ item, row: history.rowAt(item.revision) })),
      );
      const one = history.any(found.filter(({ row }) => row?.type === 'U'));
      if (one?.row?.old == null) return false;
      Object.assign(one.item, one.row.old, { revision: one.row.previous! });
      return true;
    },
  },
  {
    name: 'a list has a body of another revision',
    rule: 'list-items',
    plant(history) {
      const list = anyList(history, ({ outcome }) => outcome.items.length > 0);
      if (list !== undefined) list.outcome.items[0]!.marker = 'another';
      return list !== undefined;
    },
  },
  {
    name: 'a page begins one object too early',
    rule: 'list-items',
    plant(history) {
      const page = anyList(
        history,
        ({ paging, outcome }) => paging.type === 'page' && paging.page > 1 && outcome.items.length > 0,
      );
      if (page?.paging.type !== 'page') return false;
      page.paging.page -= 1;
      return true;
    },
  },
  {
    name: 'a list is out of order',
    rule: 'list-order',
    plant(history) {
      const list = anyList(history, ({ outcome }) => outcome.items.length > 1);
      list?.outcome.items.reverse();
      return list !== undefined;
    },
  },
  {
    name: 'a list counts one too many',
    rule: 'list-total',
    plant(history) {
      const list = anyList(history, ({ outcome }) => outcome.total !== undefined);
      if (list?.outcome.total !== undefined) list.outcome.total += 1;
      return list !== undefined;
    },
  },
  {
    name: 'the last page says that another follows',
    rule: 'list-total',
    plant(history) {
      const list = anyList(history, ({ outcome }) => outcome.hasNext === false);
      if (list !== undefined) list.outcome.hasNext = true;
      return list !== undefined;
    },
  },
  {
    name: 'chunks are of different revisions',
    rule: 'list-chunk',
    plant(history) {
      const chunk = anyList(history, ({ paging }) => paging.type === 'chunk' && paging.continued !== undefined);
      if (chunk !== undefined) chunk.outcome.revision -= 1;
      return chunk !== undefined;
    },
  },
  {
    name: 'a chunk leaves out an object between two',
    rule: 'list-items',
    plant(history) {
      const chunk = anyList(history, ({ paging, outcome }) => paging.type === 'chunk' && outcome.items.length > 2);
      return chunk?.outcome.items.splice(1, 1).length === 1;
    },
  },
  {
    name: 'the last chunk says that more follows',
    rule: 'list-chunk',
    plant(history) {
      const chunk = anyList(history, ({ paging, outcome }) => paging.type === 'chunk' && outcome.continues === false);
      if (chunk !== undefined) chunk.outcome.continues = true;
      return chunk !== undefined;
    },
  },
  {
    name: 'a continue token is refused, and its snapshot was kept',
    rule: 'list-chunk',
    plant(history) {
      const kept = history.history.compactions.at(-1)!.compacted;
      const chunk = anyList(
        history,
        ({ paging, outcome }) => paging.type === 'chunk' && paging.continued !== undefined && outcome.revision >= kept,
      );
      const last =
        chunk &&
        lists(history).some(
          ({ paging }) =>
            paging.type === 'chunk' && paging.continued?.seq === chunk.seq && paging.continued.client === chunk.client,
        );
      if (chunk === undefined || last === true || history.history.modelChanges.length > 1) return false;
      (chunk as Operation).outcome = { type: 'refused', status: 410, reason: 'Expired' };
      return true;
    },
  },
];

function lists(history: EditableHistory): AnsweredList[] {
  return history.operations.filter(
    (operation): operation is AnsweredList => operation.verb === 'list' && operation.outcome.type === 'ok',
  );
}

/** A list that no watch refers to. */
function anyList(
  history: EditableHistory,
  fits: (list: AnsweredList) => boolean = () => true,
): AnsweredList | undefined {
  return history.any(lists(history).filter((list) => list.client < 100 && fits(list)));
}
