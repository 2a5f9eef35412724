import { useEffect, useState } from 'react';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { selectionOf, type ListView } from './list-view.ts';
import { emptyWindow, ListWindow, type WindowSnapshot } from './list-window.ts';

const nothingYet = { get: () => emptyWindow, subscribe: () => () => undefined };

/** Keep `view` in a `useMemo`: another one is read from the start. */
export function useListWindow(
  model: ModelInfo,
  view: ListView,
): { list: ListWindow | undefined; snapshot: WindowSnapshot } {
  const [list, setList] = useState<ListWindow | undefined>(undefined);
  useEffect(() => {
    const next = new ListWindow(resourceOf(model, view.namespace), { ...selectionOf(view), sort: view.sort });
    setList(next);
    next.start();
    return () => next.stop();
  }, [model, view]);
  return { list, snapshot: useObservable(list?.snapshot ?? nothingYet) };
}
