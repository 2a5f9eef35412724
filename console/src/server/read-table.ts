import { selectionParams, type IndexTypes, type ListResult, type AnyObject, type WhereSelection } from '@svc/client';
import type { AnyResource } from './model-info.ts';
import { server } from './server.ts';

export interface TableColumn {
  name: string;
  type: string;
  description: string;
  /** 0: always shown. */
  priority: number;
}

export interface RowMeta {
  uid: string;
  name: string;
  namespace?: string;
  resourceVersion: string;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
}

export interface TableRow {
  cells: (string | number | boolean | null)[];
  object: { metadata: RowMeta };
}

export interface TablePage extends Omit<ListResult<AnyObject>, 'items'> {
  columnDefinitions: TableColumn[];
  rows: TableRow[];
}

export interface TableQuery extends WhereSelection<IndexTypes> {
  sort?: readonly string[];
  page: number;
  size: number;
  signal?: AbortSignal;
}

const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io;drop=metadata.managedFields';

/** One page of a list as the server shows it to people. @throws StatusError */
export async function readTable(
  resource: AnyResource,
  { sort = [], page, size, signal, ...selection }: TableQuery,
): Promise<TablePage> {
  const query = selectionParams(selection);
  for (const key of sort) query.append('sort', key);
  query.set('page', String(page));
  query.set('size', String(size));
  return (await server.read(resource.path, {
    accept,
    query,
    ...(signal === undefined ? {} : { signal }),
  })) as TablePage;
}
