import { useMemo } from 'react';
import { consoleModel } from '../server/console-model.ts';
import { modelName, resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useLiveRead, type LiveReadSource } from '../server/use-live-read.ts';
import { commonHints, mergedHints, type FieldHint, type FieldHints } from './field-hints.ts';

const formHint = consoleModel('FormHint', 'formhints');
/** More are not read. */
const maxObjects = 50;

type ListedHints = readonly (FieldHint & { path: string })[];

interface FormHintObject {
  spec: { fields: ListedHints };
}

/** The hints for the form of a model, as they are now. Undefined until the server has told. */
export function useFieldHints(model: Pick<ModelInfo, 'group' | 'plural' | 'namespaced'>): FieldHints | undefined {
  const name = modelName(model);
  const { value, failure } = useLiveRead(useMemo(() => sourceOfHints(name), [name]));
  const { namespaced } = model;
  return useMemo(() => {
    const common = commonHints({ namespaced });
    if (value !== undefined) return mergedHints(common, JSON.parse(value) as ListedHints[]);
    // Without them every field is there, too.
    return failure === undefined ? undefined : common;
  }, [value, failure, namespaced]);
}

/** As a text, so that equal ones are the same value, and nothing is rendered again. */
function sourceOfHints(name: string): LiveReadSource<string> {
  const resource = resourceOf(formHint);
  const where = { 'spec.model': name };
  return {
    resource,
    selection: { where },
    read: async (signal, noteRevision) => {
      const { items, metadata } = await resource.list({ where, sort: ['metadata.name'], limit: maxObjects, signal });
      noteRevision(metadata.resourceVersion);
      return JSON.stringify((items as unknown as FormHintObject[]).map(({ spec }) => spec.fields));
    },
  };
}
