import { useState } from 'react';
import { usePluginPages, type PagePlace, type PluginPage } from './plugin-pages.ts';

export interface ShownPage {
  name: string;
  /** As it was last, if its plugin has stopped. */
  page: PluginPage | undefined;
  state: 'loading' | 'there' | 'gone';
  failure: unknown;
}

/** It stays when its plugin stops: what somebody has typed is not lost. */
export function usePluginPage(name: string, place: PagePlace): ShownPage {
  const { value: pages, failure } = usePluginPages(place);
  const current = pages?.find((each) => each.name === name);
  const [last, setLast] = useState<PluginPage | undefined>(undefined);
  if (current !== undefined && current !== last) setLast(current);
  const state = current !== undefined ? 'there' : pages === undefined ? 'loading' : 'gone';
  return { name, page: current ?? last, state, failure };
}
