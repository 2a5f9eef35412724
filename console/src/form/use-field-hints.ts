import { useEffect, useState } from 'react';
import { modelName, type ModelInfo } from '../server/model-info.ts';
import { server } from '../server/server.ts';
import { commonHints, mergedHints, type FieldHint, type FieldHints } from './field-hints.ts';

const formHint = {
  group: 'console.svc.run',
  version: 'v1alpha1',
  kind: 'FormHint',
  plural: 'formhints',
  namespaced: false,
  hasStatusSubresource: false,
};
/** More are not read. */
const maxObjects = 50;

interface FormHintObject {
  metadata: { name: string };
  spec: { fields: readonly (FieldHint & { path: string })[] };
}

/** The hints for the form of a model, as they are when it is opened. Undefined until the server has told. */
export function useFieldHints(model: ModelInfo): FieldHints | undefined {
  const [hints, setHints] = useState<FieldHints | undefined>(undefined);
  const name = modelName(model);
  useEffect(() => {
    const end = new AbortController();
    const { signal } = end;
    const read = async (): Promise<void> => {
      const query = { where: { 'spec.model': name }, sort: ['metadata.name'], limit: maxObjects, signal };
      const { items } = await server.resource(formHint).list(query);
      if (!signal.aborted) setHints(mergedHints((items as unknown as FormHintObject[]).map(({ spec }) => spec.fields)));
    };
    read().catch(() => {
      // Without them every field is there, too.
      if (!signal.aborted) setHints(commonHints);
    });
    return () => end.abort();
  }, [name]);
  return hints;
}
