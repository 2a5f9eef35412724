import { useEffect, useState } from 'react';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { selectionOf, type ListView } from './list-view.ts';
import { emptyWindow, ListWindow, type WindowSnapshot } from './list-window.ts';

const nothingYet = { get: () => emptyWindow, subscribe: () => () => undefined };

export interface ShownWindow {
  list: ListWindow | undefined;
  snapshot: WindowSnapshot;
  /** Of which its rows are. */
  view: ListView | undefined;
  /** Is it that of the view before, because the rows of the new one are not there yet? */
  isOutdated: boolean;
}

/**
 * Keep `view` in a `useMemo`: another one is read from the start. Until its first rows are there, or a failure, the rows
 * of the one before stay, so that nothing jumps and the focus is not lost.
 */
export function useListWindow(model: ModelInfo, view: ListView): ShownWindow {
  const [windows, setWindows] = useState<{ shown?: OpenWindow; next?: OpenWindow }>({});
  useEffect(() => {
    const list = new ListWindow(resourceOf(model, view.namespace), { ...selectionOf(view), sort: view.sort });
    const next = { list, view };
    setWindows(({ shown = next }) => ({ shown, next }));
    const stopListening = list.snapshot.subscribe(() => {
      const { total, failure } = list.snapshot.get();
      if (total === undefined && failure === undefined) return;
      stopListening();
      setWindows({ shown: next, next });
    });
    list.start();
    return () => {
      stopListening();
      list.stop();
    };
  }, [model, view]);
  const { shown, next } = windows;
  return {
    list: shown?.list,
    view: shown?.view,
    snapshot: useObservable(shown?.list.snapshot ?? nothingYet),
    isOutdated: shown !== next,
  };
}

interface OpenWindow {
  list: ListWindow;
  view: ListView;
}
