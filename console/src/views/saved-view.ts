import type { AnyObject, Stored } from '@svc/client';
import {
  conditionText,
  labelText,
  parseCondition,
  parseLabel,
  writeListView,
  type ListView,
} from '../list/list-view.ts';
import { consoleModel } from '../server/console-model.ts';
import { modelName, resourceOf, type ModelInfo } from '../server/model-info.ts';
import { Observable } from '../server/observable.ts';
import { keepRead, nothingRead, type LiveRead, type LiveReadSource } from '../server/use-live-read.ts';
import { listLink } from '../shell/links.ts';

/** What says which objects a list has, and how it shows them. */
export interface ListSpec {
  model: string;
  namespace?: string;
  fields?: string[];
  labels?: string[];
  sort?: string[];
  columns?: string[];
}

/** `console.svc.run/v1alpha1` SavedView. */
export interface SavedView extends Stored<AnyObject> {
  spec: ListSpec & { title: string; description?: string };
}

export const savedViewInfo = consoleModel('SavedView', 'savedviews');

/** The first by their titles; more are not read. */
const maxViews = 1000;

/** All views that people and plugins share, as they are now. */
export const savedViews = new Observable<LiveRead<readonly SavedView[]>>(nothingRead);

/** Keeps `savedViews` up to date until the signal aborts. */
export function followSavedViews(signal: AbortSignal): void {
  const resource = resourceOf(savedViewInfo);
  savedViews.set(nothingRead);
  const read: LiveReadSource<SavedView[]>['read'] = async (_signal, noteRevision) => {
    const { items, metadata } = await resource.list({ sort: ['spec.title'], limit: maxViews, signal });
    noteRevision(metadata.resourceVersion);
    return (items as unknown as SavedView[]).toSorted((a, b) => a.spec.title.localeCompare(b.spec.title));
  };
  keepRead(savedViews, { resource, read }, signal);
}

/** The views of a model, by their titles. */
export function viewsOf(model: ModelInfo, all: readonly SavedView[] | undefined): readonly SavedView[] {
  return (all ?? []).filter(({ spec }) => spec.model === modelName(model));
}

export function viewLink(model: ModelInfo, { spec }: { spec: ListSpec }): string {
  const query = writeListView(listViewOf(spec)).toString();
  return query === '' ? listLink(model) : `${listLink(model)}?${query}`;
}

/** What a saved view shows. Somebody may have written it by hand: what is no condition is left out. */
export function listViewOf({ namespace = '', fields = [], labels = [], sort = [], columns = [] }: ListSpec): ListView {
  return {
    namespace,
    conditions: fields.flatMap((text) => parseCondition(text) ?? []),
    labels: labels.flatMap((text) => parseLabel(text) ?? []),
    sort,
    columns,
  };
}

/** Stores what is shown under a title; `known` of the same title is replaced. @throws StatusError 409 if it was changed */
export async function saveView(
  model: ModelInfo,
  { namespace, conditions, labels, sort, columns }: ListView,
  { title, description, known }: { title: string; description: string; known: SavedView | undefined },
): Promise<void> {
  const spec = {
    title,
    ...(description === '' ? {} : { description }),
    model: modelName(model),
    ...(namespace === '' ? {} : { namespace }),
    fields: conditions.map(conditionText),
    labels: labels.map(labelText),
    sort: [...sort],
    columns: [...columns],
  };
  const resource = resourceOf(savedViewInfo);
  if (known === undefined) await resource.create({ metadata: { generateName: 'view-' }, spec });
  else await resource.update({ ...known, spec });
}
