import { useEffect, useMemo, useState } from 'react';
import { models } from '../server/discovery.ts';
import { modelName, resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { usePermissions } from '../server/permissions.ts';
import { readTable, type RowMeta } from '../server/read-table.ts';
import { followRead } from '../server/use-live-read.ts';

export interface Owner {
  uid: string;
  name: string;
  /** Empty: of a model without namespaces, whose dependents may be in any. */
  namespace: string;
}

export interface DependentGroup {
  model: ModelInfo;
  rows: readonly RowMeta[];
  total: number;
  isLowerBound: boolean;
}

export interface Dependents {
  /** So many of `all` models have been asked. */
  done: number;
  all: number;
  /** Those that have any. */
  groups: readonly DependentGroup[];
  /** Names of models that could not be asked. */
  failed: readonly string[];
  /** Is every model followed, so that dependents of any show as they come? */
  isComplete: boolean;
}

const concurrent = 4;
/** Of each model; the list of the model has the others. */
const rowsShown = 20;
/** More models would be too many subscriptions for one object. */
const maxFollowed = 60;

/**
 * The objects that name this one as an owner, kept up to date. Each model that the user may list is asked first; then all
 * of them are followed, or of very many those that have dependents.
 */
export function useDependents(owner: Owner, isWanted: boolean): Dependents | undefined {
  const [found, setFound] = useState<Dependents | undefined>(undefined);
  const { uid, namespace } = owner;
  const may = usePermissions(namespace);
  const known = useObservable(models);
  // A namespaced object owns none of a model without namespaces.
  const canHaveSome = (model: ModelInfo): boolean =>
    (namespace === '' || model.namespaced) && may({ verb: 'list', model });
  const names = (known ?? []).filter(canHaveSome).map(modelName).join();
  // While the rights allow the same models it is the same list.
  const all = useMemo(() => {
    const wanted = new Set(names.split(','));
    return (known ?? []).filter((model) => wanted.has(modelName(model)));
  }, [known, names]);
  useEffect(() => {
    setFound(undefined);
    if (!isWanted) return undefined;
    const end = new AbortController();
    void followDependents({ uid, namespace, all }, setFound, end.signal);
    return () => end.abort();
  }, [uid, namespace, all, isWanted]);
  return found;
}

interface Wanted {
  uid: string;
  namespace: string;
  all: readonly ModelInfo[];
}

/** Tells what is found, and each change of it, until the signal aborts. */
async function followDependents(
  { uid, namespace, all }: Wanted,
  tell: (found: Dependents) => void,
  signal: AbortSignal,
): Promise<void> {
  const selection = { where: { 'metadata.ownerReferences.uid': uid } };
  const groups = new Map<ModelInfo, DependentGroup>();
  const failed = new Set<ModelInfo>();
  const asked = new Set<ModelInfo>();
  let isComplete = true;
  const tellNow = (): void => {
    if (signal.aborted) return;
    const inOrder = all.flatMap((model) => groups.get(model) ?? []);
    tell({ done: asked.size, all: all.length, groups: inOrder, failed: [...failed].map(modelName), isComplete });
  };
  const note = (model: ModelInfo, group: DependentGroup | undefined): void => {
    asked.add(model);
    failed.delete(model);
    if (group === undefined) groups.delete(model);
    else groups.set(model, group);
    tellNow();
  };
  const fail = (model: ModelInfo): void => {
    asked.add(model);
    failed.add(model);
    tellNow();
  };
  const read = async (model: ModelInfo): Promise<DependentGroup | undefined> => {
    const query = { ...selection, page: 1, size: rowsShown, signal };
    const { rows, total = rows.length, totalIsLowerBound } = await readTable(resourceOf(model, namespace), query);
    if (rows.length === 0) return undefined;
    return { model, rows: rows.map(({ object }) => object.metadata), total, isLowerBound: totalIsLowerBound ?? false };
  };
  const waiting = all.values();
  const work = async (): Promise<void> => {
    for (const model of waiting) {
      if (signal.aborted) return;
      await read(model).then(
        (group) => note(model, group),
        () => fail(model),
      );
    }
  };
  tellNow();
  await Promise.all(Array.from({ length: concurrent }, work));
  if (signal.aborted) return;
  isComplete = all.length <= maxFollowed;
  const followed = isComplete ? all : [...groups.keys(), ...failed].slice(0, maxFollowed);
  tellNow();
  for (const model of followed) {
    // A group may be absent, which is a value, too.
    const source = {
      resource: resourceOf(model, namespace),
      selection,
      read: async () => ({ group: await read(model) }),
    };
    const stop = followRead(source, ({ value, failure }) => {
      if (value !== undefined) note(model, value.group);
      else if (failure !== undefined) fail(model);
    });
    signal.addEventListener('abort', stop);
  }
}
