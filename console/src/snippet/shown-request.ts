import type { AnyObject, IndexTypes, WebModel, WhereSelection } from '@svc/client';
import { server } from '../server/server.ts';

/** What a page shows, as requests of the API. */
export type ShownRequest = ShownObjects | ShownCounts | ShownRecords;

/** An object if it has a name, else a list. */
export interface ShownObjects {
  model: WebModel<AnyObject, IndexTypes>;
  namespace: string;
  name?: string;
  selection?: WhereSelection<IndexTypes>;
  sort?: readonly string[];
}

/** How many objects of a list each of several selections has. */
export interface ShownCounts {
  path: string;
  counts: readonly { label: string; selectors: URLSearchParams }[];
}

/** What a path answers. */
export interface ShownRecords {
  path: string;
  query: URLSearchParams;
  /** Access management takes tokens of its own. */
  token: 'access' | 'platform';
}

/** Objects of the page that a list asks for. */
export const shownSize = 100;

export const countParams: [name: string, value: string][] = [
  ['page', '1'],
  ['size', '1'],
  ['exactTotal', 'true'],
];
/** With it the answer has the number of objects, and hardly anything of them. */
export const acceptForCounts = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

export function pathOf({ model, namespace, name }: ShownObjects): string {
  const { path } = server.resource(model, { namespace });
  return name === undefined ? path : `${path}/${encodeURIComponent(name)}`;
}
