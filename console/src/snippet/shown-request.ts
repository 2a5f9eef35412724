import type { IndexTypes, WhereSelection } from '@svc/client';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';

/** What a page shows, as a request of the API: an object if it has a name, else a list. */
export interface ShownRequest {
  model: ModelInfo;
  namespace: string;
  name?: string;
  selection?: WhereSelection<IndexTypes>;
  sort?: readonly string[];
}

/** Objects of the page that a list asks for. */
export const shownSize = 100;

export function pathOf({ model, namespace, name }: ShownRequest): string {
  const { path } = resourceOf(model, namespace);
  return name === undefined ? path : `${path}/${encodeURIComponent(name)}`;
}
