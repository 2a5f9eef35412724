import {
  compareIndexValues,
  equalJson,
  isJsonObject,
  maxJsonValues,
  newRequestEntityTooLarge,
  type JsonObject,
  type JsonValue,
  parseTimestamp,
  type SlicedWork,
} from '#pkg/apimachinery/index';
import { countElements } from '../fieldpath/field-set.ts';
import { readingFieldsV1, sortFieldSet } from '../fieldpath/fields-v1.ts';
import { type Managers, type ManagerState, managerKey } from '../merge/managers.ts';
import type { ManagedFieldsEntry } from './managed-fields-entry.ts';

/** A list of managed fields cannot be read. */
export class UnreadableManagedFields extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableManagedFields';
  }
}

/**
 * The managers in a list of managed fields.
 * @throws UnreadableManagedFields
 */
export function* readingManagedFields(list: JsonValue | undefined): SlicedWork<Managers> {
  const managers: Managers = new Map();
  if (list === undefined || list === null) return managers;
  if (!Array.isArray(list)) throw new UnreadableManagedFields('must be an array');
  for (const [index, entry] of list.entries()) {
    const manager = yield* readingEntry(isJsonObject(entry) ? entry : {}, index);
    managers.set(managerKey(manager), manager);
    yield;
  }
  return managers;
}

function* readingEntry(entry: JsonObject, index: number): SlicedWork<ManagerState> {
  const { operation, apiVersion, fieldsType } = entry;
  if (operation !== 'Apply' && operation !== 'Update')
    throw new UnreadableManagedFields('operation must be `Apply` or `Update`');
  if (typeof apiVersion !== 'string' || apiVersion === '')
    throw new UnreadableManagedFields('apiVersion must not be empty');
  if (fieldsType !== 'FieldsV1')
    throw new UnreadableManagedFields(
      fieldsType === undefined || fieldsType === ''
        ? `missing fieldsType in managed fields entry ${index}`
        : `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`,
    );
  const set = yield* readingSet(entry['fieldsV1'], index);
  return {
    name: textOf(entry['manager']),
    isApplied: operation === 'Apply',
    apiVersion,
    subresource: textOf(entry['subresource']),
    time: typeof entry['time'] === 'string' ? entry['time'] : undefined,
    set,
    sortedSet: set,
  };
}

export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function* readingSet(fields: JsonValue | undefined, index: number): SlicedWork<ManagerState['set']> {
  try {
    return yield* readingFieldsV1(fields);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UnreadableManagedFields(`error decoding set in managed fields entry ${index}: ${error.message}`);
  }
}

/** `[]` and `[{}]` of a request drop all managed fields. */
export function isReset(list: JsonValue | undefined): boolean {
  if (!Array.isArray(list) || list.length > 1) return false;
  const entry = list[0];
  return entry === undefined || entry === null || (isJsonObject(entry) && isEmptyEntry(entry));
}

function isEmptyEntry(entry: JsonObject): boolean {
  return Object.values(entry).every((value) => value === '' || value === null);
}

/** Fields of all entries of one object. Each is a key and a value, of which a body may hold no more either. */
const maxFields = maxJsonValues / 2;

/**
 * The list as it is stored and returned: sorted by operation, time, manager, version and subresource.
 * @throws StatusError 413 for more than 50 000 fields
 */
export function* writingManagedFields(managers: Managers): SlicedWork<ManagedFieldsEntry[]> {
  let left = maxFields;
  for (const { set } of managers.values()) {
    left -= countElements(set, left);
    if (left < 0)
      throw newRequestEntityTooLarge(
        `metadata.managedFields: the managers of the object own more than ${maxFields} fields`,
      );
    yield;
  }
  const sorted = [...managers.values()];
  if (sorted.length > 1) sorted.sort(compareManagers);
  const entries: ManagedFieldsEntry[] = [];
  for (const manager of sorted) {
    yield;
    entries.push(writeEntry(manager));
  }
  return entries;
}

/** The members of an entry are sorted by name, as in all that Kubernetes writes of an object without a Go type. */
function writeEntry({
  name,
  isApplied,
  apiVersion,
  subresource,
  time,
  set,
  sortedSet,
}: ManagerState): ManagedFieldsEntry {
  const entry: ManagedFieldsEntry = {
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1: set === sortedSet ? set : sortFieldSet(set),
    manager: name,
    operation: isApplied ? 'Apply' : 'Update',
  };
  if (subresource !== '') entry.subresource = subresource;
  if (time !== undefined) entry.time = time;
  return entry;
}

function compareManagers(a: ManagerState, b: ManagerState): number {
  if (a.isApplied !== b.isApplied) return a.isApplied ? -1 : 1;
  return (
    compareTimes(a.time, b.time) ||
    compareIndexValues(a.name, b.name) ||
    compareIndexValues(a.apiVersion, b.apiVersion) ||
    compareIndexValues(a.subresource, b.subresource)
  );
}

/** By whole seconds; no time comes first. */
export function compareTimes(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0;
  // Written by formatTimestamp: no need to parse.
  if (a?.length === plainLength && b?.length === plainLength && a.endsWith('Z') && b.endsWith('Z'))
    return a < b ? -1 : 1;
  return seconds(a) - seconds(b);
}

const plainLength = '2026-01-31T09:30:00Z'.length;

function seconds(time: string | undefined): number {
  return Math.floor((time === undefined ? 0 : (parseTimestamp(time) ?? 0)) / 1000);
}

/** Whether two lists differ in nothing but times. */
export function isEqualButTimes(a: readonly JsonObject[], b: readonly JsonObject[]): boolean {
  return (
    a.length === b.length &&
    a.every((entry, index) => {
      const { time: _a, ...left } = entry;
      const { time: _b, ...right } = b[index]!;
      return equalJson(left, right);
    })
  );
}
