import { describe, expect, test } from '@jest/globals';
import { validateIndexes } from '#pkg/apimachinery/index';
import { findSelectableField } from './apiextensions/selectable-field.ts';
import { builtinModels } from './builtin-models.ts';

describe.each(builtinModels)('$names.kind', (model) => {
  test('is stored in one of its versions', () => {
    expect(model.versions.map(({ name }) => name)).toContain(model.storageVersion);
  });

  test('has valid indexes on fields of its schema', () => {
    expect(validateIndexes(model.indexes, 'indexes')).toEqual([]);
    for (const index of model.indexes.filter(({ type }) => type !== 'date'))
      expect(findSelectableField(`.${index.path}`, model.versions[0]?.schema)).toEqual({ index });
    // Kubernetes has no field selectors on times.
    for (const { path } of model.indexes.filter(({ type }) => type === 'date'))
      expect(model.versions[0]?.schema.properties?.[path]).toMatchObject({ type: 'string', format: 'date-time' });
  });

  test('has an index for each selectable field', () => {
    const names = model.indexes.map(({ name }) => name);
    for (const { selectableFields } of model.versions)
      expect(names).toEqual(expect.arrayContaining(selectableFields.map((path) => path.slice(1))));
  });
});

test('no two models of a group share a name', () => {
  const plurals = builtinModels.map(({ group, names }) => `${names.plural}.${group}`);
  expect(new Set(plurals).size).toBe(plurals.length);
});
