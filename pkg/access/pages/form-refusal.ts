import { isJsonObject, isStatusError, type StatusError } from '#pkg/apimachinery/index';
import { isAccessError } from '../http/access-error.ts';
import type { AccessResponse } from '../operations/operation.ts';
import type { Problems } from './form-fields.ts';

/** Why a form was refused, for the user who sent it. */
export interface FormRefusal {
  readonly status: number;
  readonly problems: Problems;
  readonly headers: Readonly<Record<string, string>>;
}

/** The answer of `work`, or, if it refuses the input, the form again with the errors. */
export async function catchRefusal(
  work: () => Promise<AccessResponse>,
  showAgain: (refusal: FormRefusal) => AccessResponse | Promise<AccessResponse>,
): Promise<AccessResponse> {
  try {
    return await work();
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    return showAgain(refusal);
  }
}

/** Undefined for an error that the user cannot fix in the form. */
export function refusalOf(error: unknown): FormRefusal | undefined {
  if (isStatusError(error)) return error.code < 500 ? ofStatus(error) : undefined;
  if (!isAccessError(error) || error.status >= 500 || !isJsonObject(error.body)) return undefined;
  const { status, headers, body } = error;
  const { detail, msg = detail, ...fields } = body;
  if (typeof msg === 'string') return { status, headers, problems: { '': [msg] } };
  const problems = Object.entries(fields).map(([name, texts]) => [
    name === 'non_field_errors' ? '' : name,
    [texts].flat().map(String),
  ]);
  return { status, headers, problems: Object.fromEntries(problems) as Problems };
}

/** Maps a cause of `spec.displayName` to the field `displayName`. */
function ofStatus({ code, message, details }: StatusError): FormRefusal {
  const problems: Record<string, string[]> = {};
  for (const cause of details?.causes ?? []) {
    const name = /(\w*)(?:\[\d+\])?$/.exec(cause.field ?? '')?.[1] ?? '';
    problems[name] = [...(problems[name] ?? []), cause.message ?? ''];
  }
  return { status: code, headers: {}, problems: Object.keys(problems).length === 0 ? { '': [message] } : problems };
}
