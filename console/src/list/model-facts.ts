import type { JsonObject } from '@svc/client';
import { useEffect, useState } from 'react';
import { readSchema } from '../server/open-api.ts';
import { definitionsVersion, readDefinition } from '../server/discovery.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';

export interface IndexFact {
  name: string;
  type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  /** Of several values: it can be a condition, not an order. */
  isMulti: boolean;
  /** Has each value one object at most? */
  isUnique?: boolean;
}

/** What the definition of a model tells; of a built-in model only what all have. */
export interface ModelFacts {
  indexes: readonly IndexFact[];
  /** The index that sorts by a column of the list, by the column's name. */
  sortOf: ReadonlyMap<string, string>;
  definition: JsonObject | undefined;
  /** What the server says of building the indexes; undefined if it does not tell. */
  indexState: { isReady: boolean; message: string } | undefined;
  /** Has the server told? */
  isKnown: boolean;
}

interface Definition {
  status?: { conditions?: { type: string; status: string; message?: string }[] };
  spec: {
    versions: {
      name: string;
      schema?: { openAPIV3Schema?: JsonObject };
      additionalPrinterColumns?: { name: string; jsonPath: string }[];
      selectableFields?: { jsonPath: string }[];
      indexes?: { name: string; path?: string; type?: IndexFact['type']; unique?: boolean }[];
    }[];
  };
}

const common: readonly IndexFact[] = [
  { name: 'metadata.name', type: 'string', isMulti: false },
  { name: 'metadata.creationTimestamp', type: 'date', isMulti: false },
  { name: 'metadata.deletionTimestamp', type: 'date', isMulti: false },
  { name: 'metadata.ownerReferences.uid', type: 'string', isMulti: true },
];

/** A built-in model has no definition: its schema tells what can be selected by. @throws StatusError */
async function selectableFields(model: ModelInfo): Promise<readonly IndexFact[]> {
  const schema = await readSchema(model);
  return (schema?.root['x-kubernetes-selectable-fields'] ?? []).map(({ fieldPath }) => textIndex(fieldPath));
}

function textIndex(name: string): IndexFact {
  return { name, type: 'string', isMulti: false };
}

/** @throws StatusError */
export async function readModelFacts(model: ModelInfo): Promise<ModelFacts> {
  const definition = await readDefinition(model);
  const { spec, status } = (definition as Definition | undefined) ?? {};
  const version = spec?.versions.find(({ name }) => name === model.version);
  const own = (version?.indexes ?? []).map(({ name, path = name, type = 'string', unique = false }) => ({
    name,
    path,
    type,
    isMulti: path.includes('[*]'),
    isUnique: unique,
  }));
  const selectable =
    definition === undefined
      ? await selectableFields(model)
      : (version?.selectableFields ?? [])
          .map(({ jsonPath }) => textIndex(jsonPath.replace(/^\./, '')))
          .filter(({ name }) => own.every((each) => each.name !== name));
  const sortOf = new Map([
    ['Name', 'metadata.name'],
    ['Age', 'metadata.creationTimestamp'],
  ]);
  for (const { name, jsonPath } of version?.additionalPrinterColumns ?? []) {
    const index = own.find(({ isMulti, path }) => !isMulti && `.${path}` === jsonPath);
    if (index !== undefined) sortOf.set(name, index.name);
  }
  return {
    indexes: [...own.map(({ path: _path, ...index }) => index), ...selectable, ...common],
    sortOf,
    definition,
    indexState: indexStateOf(status),
    isKnown: true,
  };
}

function indexStateOf(status: Definition['status']): ModelFacts['indexState'] {
  const condition = status?.conditions?.find(({ type }) => type === 'IndexesReady');
  return condition === undefined
    ? undefined
    : { isReady: condition.status === 'True', message: condition.message ?? '' };
}

const unknownFacts: ModelFacts = {
  indexes: [{ name: 'metadata.name', type: 'string', isMulti: false }],
  sortOf: new Map(),
  definition: undefined,
  indexState: undefined,
  isKnown: false,
};

/** As the definition is now. */
export function useModelFacts(model: ModelInfo): ModelFacts {
  const [facts, setFacts] = useState(unknownFacts);
  const version = useObservable(definitionsVersion);
  useEffect(() => {
    let isCurrent = true;
    const read = async (): Promise<void> => {
      const known = await readModelFacts(model);
      if (isCurrent) setFacts(known);
    };
    // Without them filter and order by what every model has still work.
    read().catch(() => {
      if (isCurrent) setFacts((known) => (known.isKnown ? known : { ...unknownFacts, isKnown: true }));
    });
    return () => {
      isCurrent = false;
    };
  }, [model, version]);
  return facts;
}
