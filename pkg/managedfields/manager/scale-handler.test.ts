import { describe, expect, test } from '@jest/globals';
import { ApplyConflict, runSync, type ApiObject, type JsonObject } from '#pkg/apimachinery/index';
import { TypedError } from '../typed/typed-error.ts';
import { FieldManager } from './field-manager.ts';
import type { ManagedFieldsEntry } from './managed-fields-entry.ts';
import { newScaleSchema, ScaleHandler } from './scale-handler.ts';

const apiVersion = 'example.com/v1';
const replicasPaths = new Map([
  [apiVersion, ['spec', 'size']],
  ['example.com/v2', undefined],
  ['example.com/v3', ['spec', 'size']],
]);
const fields = new FieldManager({ versions: new Map([['autoscaling/v1', newScaleSchema()]]) });

function entry(name: string, fieldsV1: JsonObject, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry {
  return { apiVersion, fieldsType: 'FieldsV1', fieldsV1, manager: name, operation: 'Apply', ...more };
}

const owner = entry('a', { 'f:spec': { 'f:size': {}, 'f:x': {} } });
const scaleOf = (replicas: number, managedFields?: ManagedFieldsEntry[]): ApiObject => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: 'o', ...(managedFields === undefined ? {} : { managedFields }) },
  spec: { replicas },
});

describe('the ownership of replicas', () => {
  test('is shown at the Scale', () => {
    const other = entry('b', { 'f:spec': { 'f:x': {} } });
    const handler = new ScaleHandler({ entries: [owner, other], apiVersion, manager: 'hpa', replicasPaths });
    expect(runSync(handler.convertingToScale())).toEqual([
      { ...owner, apiVersion: 'autoscaling/v1', fieldsV1: { 'f:spec': { 'f:replicas': {} } } },
    ]);
  });

  test('moves to who scales, and the rest of the entry stays', () => {
    const handler = new ScaleHandler({ entries: [owner], apiVersion, manager: 'hpa', replicasPaths });
    const scale = scaleOf(1, runSync(handler.convertingToScale()));
    const entries = fields.update(scale, scaleOf(2), { manager: 'hpa', subresource: 'scale', now: 0 });
    expect(runSync(handler.convertingToParent(entries))).toEqual([
      entry('a', { 'f:spec': { 'f:x': {} } }),
      entry('hpa', { 'f:spec': { 'f:size': {} } }, { operation: 'Update', subresource: 'scale' }),
    ]);
  });

  test('stays if the number stays, for appliers and for updaters', () => {
    const updater = entry('u', { 'f:spec': { 'f:size': {}, 'f:x': {} } }, { operation: 'Update' });
    const handler = new ScaleHandler({ entries: [owner, updater], apiVersion, manager: 'hpa', replicasPaths });
    const scale = scaleOf(1, runSync(handler.convertingToScale()));
    const entries = fields.update(scale, scaleOf(1), { manager: 'hpa', subresource: 'scale', now: 0 });
    expect(runSync(handler.convertingToParent(entries))).toEqual([owner, updater]);
  });

  test('of who scales again has the version of the request', () => {
    const scaler = { operation: 'Update', subresource: 'scale' } as const;
    const before = entry('hpa', { 'f:spec': { 'f:size': {} } }, { ...scaler, apiVersion: 'example.com/v3' });
    const handler = new ScaleHandler({ entries: [before], apiVersion, manager: 'hpa', replicasPaths });
    const entries = fields.update(scaleOf(1, runSync(handler.convertingToScale())), scaleOf(2), {
      manager: 'hpa',
      subresource: 'scale',
      now: 0,
    });
    expect(runSync(handler.convertingToParent(entries))).toEqual([{ ...before, apiVersion }]);
  });

  test('joins what an entry of who scales owns already', () => {
    const scaler = { operation: 'Update', subresource: 'scale' } as const;
    const handler = new ScaleHandler({
      entries: [owner, entry('hpa', { 'f:spec': { 'f:y': {} } }, scaler)],
      apiVersion,
      manager: 'hpa',
      replicasPaths,
    });
    const scale = scaleOf(1, runSync(handler.convertingToScale()));
    const entries = fields.update(scale, scaleOf(2), { manager: 'hpa', subresource: 'scale', now: 0 });
    expect(runSync(handler.convertingToParent(entries))).toEqual([
      entry('a', { 'f:spec': { 'f:x': {} } }),
      entry('hpa', { 'f:spec': { 'f:size': {}, 'f:y': {} } }, scaler),
    ]);
  });

  test('is a conflict for who applies another number, and is taken with force', () => {
    const handler = new ScaleHandler({ entries: [owner], apiVersion, manager: 'b', replicasPaths });
    const scale = scaleOf(1, runSync(handler.convertingToScale()));
    const options = { manager: 'b', subresource: 'scale', now: 0 };
    expect(() => fields.apply(scale, scaleOf(2), options)).toThrow(ApplyConflict);
    const { managedFields } = fields.apply(scale, scaleOf(2), { ...options, force: true });
    expect(runSync(handler.convertingToParent(managedFields))).toEqual([
      entry('a', { 'f:spec': { 'f:x': {} } }),
      entry('b', { 'f:spec': { 'f:size': {} } }, { subresource: 'scale' }),
    ]);
  });

  test('an entry of a version that is not served is dropped, one without /scale is kept', () => {
    const entries = [
      entry('gone', { 'f:spec': { 'f:size': {} } }, { apiVersion: 'example.com/v0' }),
      entry('none', { 'f:spec': { 'f:size': {} } }, { apiVersion: 'example.com/v2' }),
    ];
    const handler = new ScaleHandler({ entries, apiVersion, manager: 'hpa', replicasPaths });
    expect(runSync(handler.convertingToScale())).toEqual([]);
    expect(runSync(handler.convertingToParent([]))).toEqual([entries[1]]);
  });

  test('entries that cannot be read are refused', () => {
    const entries = [entry('a', { spec: {} })];
    const handler = new ScaleHandler({ entries, apiVersion, manager: 'hpa', replicasPaths });
    expect(() => runSync(handler.convertingToScale())).toThrow(TypedError);
  });
});
