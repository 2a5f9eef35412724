import type { JsonObject } from '@svc/client';
import { useMemo } from 'react';
import { consoleModel } from '../server/console-model.ts';
import { resourceOf } from '../server/model-info.ts';
import { Observable, useObservable } from '../server/observable.ts';
import { keepRead, nothingRead, type LiveRead, type LiveReadSource } from '../server/use-live-read.ts';
import { noteRefusal } from '../server/server.ts';
import type { ListSpec } from '../views/saved-view.ts';

const pageInfo = consoleModel('ConsolePage', 'consolepages');
const pluginLabel = 'svc.run/plugin';
const maxPages = 500;

export type PagePlace = 'page' | 'overview' | 'objectTab' | 'objectAction' | 'command' | 'userCenter';

/** As much of a ConsolePage as the console uses. */
export interface PluginPage {
  name: string;
  title: string;
  description: string | undefined;
  plugin: string;
  place: PagePlace;
  /** Whose objects have the tab or the action. */
  model: string | undefined;
  /** Is an action for one object at a time? */
  isForOne: boolean;
  /** Of its frame; undefined before its plugin has started for the first time, and without a frame. */
  url: string | undefined;
  /** What the console itself shows, instead of a frame. */
  content: readonly PagePart[] | undefined;
  /** What an action or a command sends, instead of a frame. */
  action: PluginRequest | undefined;
}

/** One of text, list, form, plot and buttons. */
export interface PagePart {
  title?: string;
  text?: string;
  list?: ListSpec;
  form?: Pick<ListSpec, 'model' | 'namespace'>;
  plot?: Omit<ListSpec, 'sort' | 'columns'> & { index: string };
  buttons?: readonly PageButton[];
}

export interface PageButton extends PluginRequest {
  label: string;
}

/** A POST to an endpoint, or a merge patch of the object that it is about: either has a `path` or a `patch`. */
export interface PluginRequest {
  path?: string;
  body?: JsonObject;
  patch?: JsonObject;
  confirm?: string;
  done?: string;
}

interface PageObject {
  metadata: { name: string; labels?: Record<string, string> };
  spec: {
    title: string;
    description?: string;
    order?: number;
    place?: PagePlace;
    model?: string;
    objects?: 'one' | 'many';
    frame?: { file: string; hash?: string };
    content?: readonly PagePart[];
    action?: PluginRequest;
  };
}

/** The pages of all plugins in their order, as they are now. */
const pluginPages = new Observable<LiveRead<readonly PluginPage[]>>(nothingRead);

/** Keeps the pages of plugins up to date until the signal aborts. */
export function followPluginPages(signal: AbortSignal): void {
  const resource = resourceOf(pageInfo);
  const read: LiveReadSource<PluginPage[]>['read'] = async (_signal, noteRevision) => {
    const { items, metadata } = await resource.list({ limit: maxPages, signal });
    noteRevision(metadata.resourceVersion);
    const objects = items as unknown as PageObject[];
    return objects.toSorted((a, b) => orderOf(a) - orderOf(b)).map(pageOf);
  };
  // An author sees each save.
  keepRead(pluginPages, { resource, read, minPauseMs: 100 }, signal);
}

/** The pages that belong to a place. */
export function usePluginPages(place: PagePlace): LiveRead<readonly PluginPage[]> {
  const all = useObservable(pluginPages);
  return useMemo(() => ({ ...all, value: all.value?.filter((page) => page.place === place) }), [all, place]);
}

function orderOf({ spec: { order = Infinity } }: PageObject): number {
  return Math.min(order, Number.MAX_SAFE_INTEGER);
}

function pageOf({ metadata: { name, labels }, spec }: PageObject): PluginPage {
  const { title, description, place = 'page', model, objects, frame, content, action } = spec;
  const plugin = labels?.[pluginLabel] ?? '';
  const url = frame?.hash === undefined ? undefined : `/plugin-pages/${plugin}/${frame.hash}/${frame.file}`;
  return { name, title, description, plugin, place, model, isForOne: objects === 'one', url, content, action };
}

export function pageLink(name: string): string {
  return `/p/${encodeURIComponent(name)}`;
}

/** `fetch` in the name of a page: the server allows what the rules of the page and the user may. */
export function fetchForPage(name: string): typeof fetch {
  return async (input, init = {}) => {
    const headers = new Headers(init.headers);
    for (const [key, value] of Object.entries(sessionHeaders(init.method ?? 'GET'))) headers.set(key, value);
    headers.set('X-SVC-Page', name);
    const response = await fetch(input, { ...init, headers, redirect: 'error' });
    // 403 is what the rules of the page say.
    if (response.status === 401) noteRefusal(401);
    return response;
  };
}

/** What the session of the browser adds to a request: the server refuses it for another session. */
function sessionHeaders(method: string): Record<string, string> {
  const token = resourceOf(pageInfo).connection.browserSession?.csrfToken;
  if (token === undefined) return {};
  return method === 'GET' ? { 'X-SVC-Session': token } : { 'X-SVC-Session': token, 'X-CSRFToken': token };
}
