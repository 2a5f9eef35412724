import { isDelete, isWrite } from './editable-history.ts';
import type { PlantedFault } from './planted-fault.ts';

export const writeFaults: readonly PlantedFault[] = [
  {
    name: 'an acknowledged write is not in the log',
    rule: 'write-lost',
    plant(history) {
      const operation = history.acknowledged();
      const row = operation && history.rowOf(operation);
      if (row === undefined) return false;
      history.log.splice(history.log.indexOf(row), 1);
      return true;
    },
  },
  {
    name: 'a write of unknown outcome that was not made is acknowledged',
    rule: 'write-lost',
    plant(history) {
      const operation = history.anyOperation(
        isWrite,
        (each) => each.outcome.type === 'unknown' && history.rowOf(each) === undefined,
      );
      if (operation === undefined) return false;
      const { marker, labels = {}, fields = {} } = operation.sent;
      const object = {
        uid: 'uid',
        marker,
        labels: labels as Record<string, string>,
        fields,
        namespace: operation.namespace,
        name: operation.name,
        revision: 150,
      };
      operation.outcome = { type: 'ok', object };
      return true;
    },
  },
  {
    name: 'an acknowledged deletion was not made',
    rule: 'write-lost',
    plant(history) {
      const operation = history.acknowledgedDelete();
      const row = history.log.find(
        (each) => each.type === 'D' && operation?.outcome.type === 'ok' && each.new?.uid === operation.outcome.uid,
      );
      if (row === undefined) return false;
      history.log.splice(history.log.indexOf(row), 1);
      return true;
    },
  },
  {
    name: 'an acknowledgement tells another revision',
    rule: 'write-revision',
    plant(history) {
      const operation = history.acknowledged();
      if (operation?.outcome.type !== 'ok') return false;
      operation.outcome.object.revision -= 1;
      return true;
    },
  },
  {
    name: 'a write is applied twice',
    rule: 'write-twice',
    plant(history) {
      const row = history.log.findLast(
        ({ type, namespace, name, revision }) =>
          type === 'U' && history.rowsOf(namespace, name).at(-1)?.revision === revision,
      );
      if (row?.new == null) return false;
      history.log.push({
        ...row,
        revision: history.log.at(-1)!.revision + 1,
        previous: row.revision,
        old: row.new,
        recorded: history.log.at(-1)!.recorded,
      });
      return true;
    },
  },
  {
    name: 'a repetition under an Idempotency-Key is applied once more',
    rule: 'write-twice',
    plant(history) {
      const operation = history.anyOperation(
        isWrite,
        (each) => each.outcome.type === 'ok' && each.outcome.replayed === true,
      );
      const row = operation && history.rowOf(operation);
      if (operation?.outcome.type !== 'ok' || row?.new == null) return false;
      const revision = history.log.at(-1)!.revision + 1;
      history.log.push({
        ...row,
        type: 'U',
        revision,
        previous: row.revision,
        old: row.new,
        recorded: history.log.at(-1)!.recorded,
      });
      operation.outcome.object.revision = revision;
      return true;
    },
  },
  {
    name: 'two clients are told that they made one deletion',
    rule: 'write-twice',
    plant(history) {
      const operation = history.acknowledgedDelete();
      if (operation === undefined) return false;
      const { idempotencyKey: _, ...rest } = operation;
      history.operations.push({ ...rest, client: 50 });
      return true;
    },
  },
  {
    name: 'a refused write is in the log',
    rule: 'write-refused',
    plant(history) {
      const operation = history.acknowledged();
      if (operation?.idempotencyKey !== undefined || operation === undefined) return false;
      operation.outcome = { type: 'refused', status: 429, reason: 'TooManyRequests' };
      return true;
    },
  },
  {
    name: 'the log holds other labels than were sent',
    rule: 'write-content',
    plant(history) {
      const row = history.rowOfAcknowledged();
      if (row?.new == null) return false;
      row.new = { ...row.new, labels: { ...row.new.labels, color: 'other' } };
      return true;
    },
  },
  {
    name: 'the answer shows another object than was written',
    rule: 'write-content',
    plant(history) {
      const operation = history.acknowledged();
      if (operation?.outcome.type !== 'ok') return false;
      operation.outcome.object.fields = { ...operation.outcome.object.fields, rank: 77 };
      return true;
    },
  },
  {
    name: 'a write goes to another object',
    rule: 'write-content',
    plant(history) {
      const row = history.rowOfAcknowledged();
      if (row !== undefined) row.name = 'another';
      return row !== undefined;
    },
  },
  {
    name: 'a change that nobody asked for',
    rule: 'write-unasked',
    plant(history) {
      const operation = history.acknowledged();
      if (operation === undefined) return false;
      const { marker } = operation.sent;
      for (let i = history.operations.length - 1; i >= 0; i -= 1) {
        const each = history.operations[i]!;
        if (isWrite(each) && each.sent.marker === marker) history.operations.splice(i, 1);
      }
      return true;
    },
  },
  {
    name: 'a deletion that nobody asked for',
    rule: 'write-unasked',
    plant(history) {
      if (
        history.history.modelChanges.length > 1 ||
        history.operations.some(({ verb, outcome }) => verb === 'deleteCollection' && outcome.type !== 'ok')
      )
        return false;
      const operation = history.anyOperation(
        isDelete,
        ({ outcome, namespace, name }) =>
          outcome.type === 'ok' &&
          !history.operations.some(
            (each) =>
              isDelete(each) && each.namespace === namespace && each.name === name && each.outcome.type === 'unknown',
          ),
      );
      if (operation === undefined) return false;
      history.operations.splice(history.operations.indexOf(operation), 1);
      return true;
    },
  },
  {
    name: 'a later write gets a lower revision than one acknowledged before',
    rule: 'write-order',
    plant(history) {
      const first = history.acknowledged();
      const row = first && history.rowOf(first);
      const later = history.log.findLast(
        (each) => row !== undefined && each.revision > row.revision && history.makerOf(each)?.outcome.type === 'ok',
      );
      const second = later && history.makerOf(later);
      if (
        first === undefined ||
        second === undefined ||
        first.idempotencyKey !== undefined ||
        second.completed < first.completed
      )
        return false;
      first.invoked = second.completed + 1;
      first.completed = second.completed + 2;
      return true;
    },
  },
  {
    name: 'a deleted collection leaves what matched',
    rule: 'delete-collection',
    plant(history) {
      const at = history.log.at(-1)!.recorded + 100;
      const { model } = history.finalStates[0]!;
      const base = { client: 50, seq: 1, replica: 'one', invoked: at, completed: at + 1, model, namespace: '' };
      history.operations.push({
        ...base,
        verb: 'deleteCollection',
        selector: { labels: [], fields: [] },
        outcome: { type: 'ok', deleted: [] },
      });
      return history.finalStates[0]!.objects.length > 0;
    },
  },
  {
    name: 'a deleted collection takes what does not match',
    rule: 'delete-collection',
    plant(history) {
      const operation = history.any(
        history.operations
          .filter((each) => each.verb === 'deleteCollection')
          .filter(({ outcome }) => outcome.type === 'ok' && outcome.deleted.length > 0),
      );
      if (operation !== undefined) operation.selector = { labels: [{ key: 'none', operator: 'exists' }], fields: [] };
      return operation !== undefined;
    },
  },
  {
    name: 'one marker on two requests',
    rule: 'recording',
    plant(history) {
      const [first, second] = history.operations
        .filter(isWrite)
        .filter((each) => each.outcome.type === 'ok' && each.idempotencyKey === undefined);
      if (first === undefined || second === undefined) return false;
      second.sent.marker = first.sent.marker;
      return true;
    },
  },
];
