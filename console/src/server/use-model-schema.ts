import { useEffect, useState } from 'react';
import type { ModelInfo } from './model-info.ts';
import { readSchema } from './open-api.ts';
import type { ModelSchema } from './open-api-schema.ts';

/** Undefined until it is known; `none` if the server has none, or does not tell. */
export function useModelSchema(model: ModelInfo): ModelSchema | 'none' | undefined {
  const [schema, setSchema] = useState<ModelSchema | 'none' | undefined>(undefined);
  useEffect(() => {
    let isCurrent = true;
    const read = async (): Promise<void> => {
      const found = await readSchema(model);
      if (isCurrent) setSchema(found ?? 'none');
    };
    read().catch(() => {
      if (isCurrent) setSchema('none');
    });
    return () => {
      isCurrent = false;
    };
  }, [model]);
  return schema;
}
