import { send, type AnswerHeaders } from '#pkg/http/index';
import type { Representation } from '../../rest/served-resource.ts';
import { encodeObject, type AnswerFormat } from './answer-format.ts';
import type { ResourceRequest } from '../request/resource-request.ts';

export interface ObjectAnswer {
  status: number;
  format: AnswerFormat;
  headers?: AnswerHeaders;
  /** Nothing was stored, so the object has no entity tag. */
  dryRun?: boolean;
}

/** Answers with one object and its entity tag. */
export async function answerObject(
  { context }: ResourceRequest,
  object: Representation,
  { status, format, headers, dryRun = false }: ObjectAnswer,
): Promise<void> {
  const tag = dryRun ? {} : { ETag: entityTagOf(object) };
  await send(context, status, format.type, encodeObject(format, object.text), {
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
