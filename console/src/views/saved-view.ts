import type { AnyObject, Stored } from '@svc/client';
import { conditionText, labelText, parseCondition, parseLabel, type ListView } from '../list/list-view.ts';
import { modelName, resourceOf, type ModelInfo } from '../server/model-info.ts';

/** `console.svc.run/v1alpha1` SavedView. */
export interface SavedView extends Stored<AnyObject> {
  spec: {
    title: string;
    description?: string;
    model: string;
    namespace?: string;
    fields?: string[];
    labels?: string[];
    sort?: string[];
    columns?: string[];
  };
}

export const savedViewInfo: ModelInfo = {
  group: 'console.svc.run',
  version: 'v1alpha1',
  kind: 'SavedView',
  plural: 'savedviews',
  namespaced: false,
  hasStatusSubresource: false,
  verbs: [],
  shortNames: [],
  versions: ['v1alpha1'],
};

/** More would not be read. */
const maxViews = 200;

/** The views of a model, by their titles. @throws StatusError */
export async function readSavedViews(model: ModelInfo, signal: AbortSignal): Promise<SavedView[]> {
  const { items } = await resourceOf(savedViewInfo).list({
    where: { 'spec.model': modelName(model) },
    limit: maxViews,
    signal,
  });
  return (items as unknown as SavedView[]).toSorted((a, b) => a.spec.title.localeCompare(b.spec.title));
}

/** What a saved view shows. Somebody may have written it by hand: what is no condition is left out. */
export function listViewOf({
  namespace = '',
  fields = [],
  labels = [],
  sort = [],
  columns = [],
}: SavedView['spec']): ListView {
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
