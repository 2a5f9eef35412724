import { isDelete, isGet, isWrite } from './editable-history.ts';
import type { PlantedFault } from './planted-fault.ts';

/** Wrong refusals, and missing refusals. */
export const conflictFaults: readonly PlantedFault[] = [
  {
    name: 'repetitions under one Idempotency-Key are told different revisions',
    rule: 'idempotency',
    plant(history) {
      const operation = history.acknowledged();
      if (operation?.outcome.type !== 'ok') return false;
      operation.idempotencyKey ??= `planted ${operation.seq}`;
      const { object } = operation.outcome;
      history.operations.push({
        ...operation,
        client: 50,
        outcome: { type: 'ok', object: { ...object, revision: object.revision + 1 }, replayed: true },
      });
      return true;
    },
  },
  {
    name: 'a repetition is refused, though the first was acknowledged',
    rule: 'idempotency',
    plant(history) {
      const operation = history.acknowledged();
      if (operation === undefined) return false;
      operation.idempotencyKey ??= `planted ${operation.seq}`;
      const { completed } = operation;
      history.operations.push({
        ...operation,
        client: 50,
        invoked: completed + 1,
        completed: completed + 2,
        outcome: { type: 'refused', status: 409, reason: 'AlreadyExists' },
      });
      return true;
    },
  },
  {
    name: 'an update is lost: its precondition did not hold, and it was made',
    rule: 'conflict-missed',
    plant(history) {
      const operation = history.anyOperation(isWrite, (each) => each.verb !== 'create' && each.outcome.type === 'ok');
      const previous = operation && history.rowOf(operation)?.previous;
      if (operation === undefined || operation.verb === 'create' || previous == null) return false;
      for (const each of history.operations)
        if (each.verb === operation.verb && each.sent.marker === operation.sent.marker) each.expected = previous - 1;
      return true;
    },
  },
  {
    name: 'a deletion takes another object than was meant',
    rule: 'conflict-missed',
    plant(history) {
      const operation = history.anyOperation(
        isDelete,
        ({ outcome, idempotencyKey }) => outcome.type === 'ok' && idempotencyKey === undefined,
      );
      if (operation !== undefined) operation.expectedUid = 'another';
      return operation !== undefined;
    },
  },
  {
    name: 'an update is refused as stale, and was not',
    rule: 'conflict-unjustified',
    plant(history) {
      const get = history.quietGet();
      if (get?.outcome.type !== 'ok') return false;
      const sent = { marker: 'planted', labels: {}, fields: {} };
      history.replace(get, {
        ...get,
        verb: 'update',
        sent,
        expected: get.outcome.object.revision,
        outcome: { type: 'refused', status: 409, reason: 'Conflict' },
      });
      return true;
    },
  },
  {
    name: 'an unconditional update is refused as stale',
    rule: 'conflict-unjustified',
    plant(history) {
      const get = history.anyOperation(isGet);
      if (get === undefined) return false;
      history.replace(get, {
        ...get,
        verb: 'patch',
        sent: { marker: 'planted' },
        outcome: { type: 'refused', status: 409, reason: 'Conflict' },
      });
      return true;
    },
  },
  {
    name: 'a create is refused, and its name was free',
    rule: 'conflict-unjustified',
    plant(history) {
      const operation = history.anyOperation(
        isWrite,
        (each) => each.outcome.type === 'refused' && each.outcome.reason === 'AlreadyExists',
      );
      if (operation !== undefined) operation.name = 'never-used';
      return operation !== undefined;
    },
  },
  {
    name: 'a unique value is said to be taken, and was free',
    rule: 'conflict-unjustified',
    plant(history) {
      const operation = history.anyOperation(
        isWrite,
        (each) => each.outcome.type === 'refused' && each.outcome.duplicate !== undefined,
      );
      if (operation?.outcome.type !== 'refused' || operation.outcome.duplicate === undefined) return false;
      operation.sent.fields = { ...operation.sent.fields, [operation.outcome.duplicate]: 'never-used' };
      return true;
    },
  },
  {
    name: 'an Idempotency-Key is said to be under way, and nothing is',
    rule: 'conflict-unjustified',
    plant(history) {
      const operation = history.anyOperation(
        isWrite,
        (each) => each.outcome.type === 'refused' && each.outcome.status === 409,
      );
      if (operation === undefined) return false;
      operation.idempotencyKey = 'planted';
      operation.outcome = { type: 'refused', status: 409, reason: 'Conflict', retryAfter: true };
      return true;
    },
  },
  {
    name: 'a write is refused for want of an object that was there',
    rule: 'not-found-unjustified',
    plant(history) {
      const get = history.quietGet();
      if (get === undefined) return false;
      history.replace(get, { ...get, verb: 'delete', outcome: { type: 'refused', status: 404, reason: 'NotFound' } });
      return true;
    },
  },
  {
    name: 'a good request is refused as malformed',
    rule: 'refusal',
    plant(history) {
      const operation = history.anyOperation(isGet);
      if (operation !== undefined) operation.outcome = { type: 'refused', status: 422, reason: 'Invalid' };
      return operation !== undefined;
    },
  },
];
