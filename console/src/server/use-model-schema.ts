import { useEffect, useState } from 'react';
import { definitionsVersion } from './discovery.ts';
import { apiVersionOf, type ModelInfo } from './model-info.ts';
import { useObservable } from './observable.ts';
import { readSchema } from './open-api.ts';
import type { ModelSchema } from './open-api-schema.ts';

type KnownSchema = ModelSchema | 'none' | undefined;

/** As the definition is now. Undefined until it is known; `none` if the server has none, or does not tell. */
export function useModelSchema(model: ModelInfo): KnownSchema {
  const definitions = useObservable(definitionsVersion);
  const kind = `${apiVersionOf(model)} ${model.kind}`;
  const [state, setState] = useState<{ kind: string; schema: KnownSchema }>({ kind, schema: undefined });
  useEffect(() => {
    let isCurrent = true;
    const take = (found: ModelSchema | 'none'): void => {
      if (!isCurrent) return;
      setState((known) => (known.kind === kind && isKept(known.schema, found) ? known : { kind, schema: found }));
    };
    readSchema(model).then(
      (found) => take(found ?? 'none'),
      () => take('none'),
    );
    return () => {
      isCurrent = false;
    };
  }, [model, kind, definitions]);
  return state.schema;
}

/** A form that is open stays: where the definition is gone, and where only another model's has changed. */
function isKept(known: KnownSchema, found: ModelSchema | 'none'): boolean {
  return typeof known === 'object' && (found === 'none' || known.root === found.root);
}
