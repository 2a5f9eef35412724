import { useMemo } from 'react';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useLiveRead, type LiveRead, type LiveReadSource } from '../server/use-live-read.ts';

const pageInfo: ModelInfo = {
  group: 'console.svc.run',
  version: 'v1alpha1',
  kind: 'ConsolePage',
  plural: 'consolepages',
  namespaced: false,
  hasStatusSubresource: false,
  verbs: [],
  shortNames: [],
  versions: ['v1alpha1'],
};

const pluginLabel = 'svc.run/plugin';
const maxPages = 500;

/** As much of a ConsolePage as the console uses. */
export interface PluginPage {
  name: string;
  title: string;
  plugin: string;
  /** Undefined before its plugin has started for the first time. */
  url: string | undefined;
}

interface PageObject {
  metadata: { name: string; labels?: Record<string, string> };
  spec: { title: string; order?: number; frame: { file: string; hash?: string } };
}

/** The pages of all plugins in their order, as they are now. */
export function usePluginPages(): LiveRead<PluginPage[]> {
  return useLiveRead(useMemo(sourceOfPages, []));
}

function sourceOfPages(): LiveReadSource<PluginPage[]> {
  const resource = resourceOf(pageInfo);
  return {
    resource,
    // An author sees each save.
    minPauseMs: 100,
    read: async (signal) => {
      const objects = (await resource.list({ limit: maxPages, signal })).items as unknown as PageObject[];
      return objects.toSorted((a, b) => orderOf(a) - orderOf(b)).map(pageOf);
    },
  };
}

function orderOf({ spec: { order = Infinity } }: PageObject): number {
  return Math.min(order, Number.MAX_SAFE_INTEGER);
}

function pageOf({ metadata: { name, labels }, spec: { title, frame } }: PageObject): PluginPage {
  const plugin = labels?.[pluginLabel] ?? '';
  const { file, hash } = frame;
  return { name, title, plugin, url: hash === undefined ? undefined : `/plugin-pages/${plugin}/${hash}/${file}` };
}

export function pageLink(name: string): string {
  return `/p/${encodeURIComponent(name)}`;
}

/** What the session of the browser adds to a request: the server refuses it for another session. */
export function sessionHeaders(method: string): Record<string, string> {
  const token = resourceOf(pageInfo).connection.browserSession?.csrfToken;
  if (token === undefined) return {};
  return method === 'GET' ? { 'X-SVC-Session': token } : { 'X-SVC-Session': token, 'X-CSRFToken': token };
}
