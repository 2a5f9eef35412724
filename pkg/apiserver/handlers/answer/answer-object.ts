import { send, type AnswerHeaders } from '#pkg/http/index';
import type { ObjectText, Representation } from '../../rest/served-resource.ts';
import type { TableColumns } from '../../table/column-definition.ts';
import { tableColumns } from '../../table/table-columns.ts';
import { encodeObject, type AnswerFormat } from './answer-format.ts';
import type { ResourceRequest } from '../request/resource-request.ts';

/** What a response shows of an object: itself, or its Scale. */
export interface ObjectView {
  /** Converts the object. */
  show(object: ObjectText): ObjectText;
  columns: TableColumns;
}

export interface ObjectAnswer {
  status: number;
  format: AnswerFormat;
  headers?: AnswerHeaders;
  /** Nothing was stored, so the object has no entity tag. */
  dryRun?: boolean;
  /** Default: the object itself. */
  view?: ObjectView | undefined;
}

/** Answers with one object and its entity tag. A table has none: the ages in it change, and the object does not. */
export async function answerObject(
  { context, served }: ResourceRequest,
  object: Representation,
  { status, format, headers, dryRun = false, view }: ObjectAnswer,
): Promise<void> {
  const tag = dryRun || format.projection === 'table' ? {} : { ETag: entityTagOf(object) };
  const shown = view === undefined ? object : view.show(object);
  const columns = (): TableColumns => view?.columns ?? tableColumns(served);
  await send(context, status, format.type, encodeObject(format, shown, columns), {
    Vary: 'Accept',
    ...tag,
    ...replayHeaders(object),
    ...headers,
  });
}

export function replayHeaders({ isReplayed }: Representation): AnswerHeaders {
  return isReplayed === true ? { 'Idempotent-Replayed': 'true' } : {};
}

export function entityTagOf({ revision }: Representation): string {
  return `"${revision}"`;
}
