import type { LogRow } from '../../history.ts';
import type { EditableHistory } from './editable-history.ts';
import type { PlantedFault } from './planted-fault.ts';

export const logFaults: readonly PlantedFault[] = [
  {
    name: 'a revision is given out twice',
    rule: 'log-order',
    plant(history) {
      const row = history.any(history.log);
      if (row === undefined) return false;
      history.log.push({ ...row, name: 'another' });
      return true;
    },
  },
  {
    name: 'a revision becomes visible after a higher one',
    rule: 'log-order',
    plant(history) {
      const at = history.log.findIndex((row, i) => i > 20 && row.recorded < (history.log[i + 1]?.recorded ?? 0));
      if (at === -1) return false;
      history.log[at]!.recorded = history.log[at + 1]!.recorded + 1;
      return true;
    },
  },
  {
    name: 'a committed revision is gone',
    rule: 'log-order',
    plant(history) {
      const row = history.any(history.log);
      history.history.lostRevisions = row === undefined ? [] : [row.revision];
      return row !== undefined;
    },
  },
  {
    name: 'an object changes its uid',
    rule: 'log-chain',
    plant: (history) => changeRow(history, isUpdate, (row) => ({ ...row, new: { ...row.new!, uid: 'another' } })),
  },
  {
    name: 'a row names the wrong predecessor',
    rule: 'log-chain',
    plant: (history) => changeRow(history, isUpdate, (row) => ({ ...row, previous: row.previous! - 1 })),
  },
  {
    name: 'the old body is not what the row before left',
    rule: 'log-chain',
    plant: (history) =>
      changeRow(history, isUpdate, (row) => ({
        ...row,
        old: { ...row.old!, labels: { ...row.old!.labels, color: 'other' } },
      })),
  },
  {
    name: 'an object is created that is there',
    rule: 'log-chain',
    plant: (history) => changeRow(history, isUpdate, (row) => ({ ...row, type: 'C', previous: null, old: null })),
  },
  {
    name: 'two objects hold one unique value',
    rule: 'log-unique',
    plant(history) {
      const index = history.history.models[0]!.unique[0]!;
      const holder = history.any(
        history.log.filter(
          (row) =>
            row.type === 'C' &&
            typeof row.new?.fields[index] === 'string' &&
            history.rowsOf(row.namespace, row.name).length === 1,
        ),
      );
      const other = history.any(
        history.log.filter(
          (row) =>
            holder !== undefined &&
            row.type !== 'D' &&
            row.new !== null &&
            row.revision > holder.revision &&
            row.incarnation === holder.incarnation,
        ),
      );
      if (holder === undefined || other === undefined) return false;
      other.new = { ...other.new!, fields: { ...other.new!.fields, [index]: holder.new!.fields[index]! } };
      return true;
    },
  },
  {
    name: 'a dropped model takes an object with it, and tells nobody',
    rule: 'log-model',
    plant(history) {
      const dropped = history.history.incarnations[0]?.dropped;
      const last = history.log.filter(
        (row) => row.revision <= (dropped ?? 0) && row.incarnation === 10 && row.type === 'D',
      );
      const row = history.any(
        last.filter(
          ({ namespace, name, revision }) =>
            !history.rowsOf(namespace, name).some((other) => other.revision > revision && other.revision <= dropped!),
        ),
      );
      if (row === undefined) return false;
      history.log.splice(history.log.indexOf(row), 1);
      return true;
    },
  },
  {
    name: 'a write is made in a model that was dropped',
    rule: 'log-model',
    plant(history) {
      const row = history.log.find(({ incarnation }) => incarnation === 11);
      if (row !== undefined) row.incarnation = 10;
      return row !== undefined;
    },
  },
  {
    name: 'a replica lacks an object at the end',
    rule: 'final-state',
    plant(history) {
      return (history.finalStates[1]?.objects.shift() ?? undefined) !== undefined;
    },
  },
  {
    name: 'a replica has an old state at the end',
    rule: 'final-state',
    plant(history) {
      const object = history.finalStates[2]?.objects[0];
      if (object !== undefined) object.revision -= 1;
      return object !== undefined;
    },
  },
  {
    name: 'a table holds another body than the log',
    rule: 'final-state',
    plant(history) {
      const object = history.finalStates[0]?.objects[0];
      if (object !== undefined) object.labels = { color: 'other' };
      return object !== undefined;
    },
  },
  {
    name: 'a deleted object is still there',
    rule: 'final-state',
    plant(history) {
      const row = history.any(
        history.log.filter(
          ({ type, namespace, name, revision }) =>
            type === 'D' && history.rowsOf(namespace, name).at(-1)?.revision === revision,
        ),
      );
      if (row === undefined) return false;
      history.finalStates[0]!.objects.push({
        ...row.new!,
        namespace: row.namespace,
        name: row.name,
        revision: row.previous!,
      });
      return true;
    },
  },
];

function isUpdate(row: LogRow): boolean {
  return row.type === 'U' && row.new !== null;
}

function changeRow(history: EditableHistory, fits: (row: LogRow) => boolean, change: (row: LogRow) => LogRow): boolean {
  const row = history.any(history.log.filter(fits));
  if (row === undefined) return false;
  history.log[history.log.indexOf(row)] = change(row);
  return true;
}
