import type { ClientEvent, Stored } from './client.ts';
import type { AnyObject } from './resource-type.ts';
import { isJsonObject } from '../meta/object.ts';
import { parseJson } from '../serializer/parse-json.ts';
import { StatusError } from '../status/status-error.ts';
import { statusErrorFrom, type AnswerFacts } from '../status/status-error-from.ts';

/**
 * The event of one line of a watch. @throws StatusError: that of an ERROR, 500 for a line that is no event
 */
export function readClientEvent<T extends AnyObject>(
  line: string,
  facts: Pick<AnswerFacts, 'requestId'> = {},
): ClientEvent<T> {
  return clientEventOf<T>(parseJson(line), facts);
}

/** The same of a line that is parsed already. */
export function clientEventOf<T extends AnyObject>(
  event: unknown,
  facts: Pick<AnswerFacts, 'requestId'> = {},
): ClientEvent<T> {
  const { type, object } = isJsonObject(event) ? event : {};
  if (type === 'ERROR') throw statusErrorFrom(object, facts);
  if (isJsonObject(object) && isJsonObject(object['metadata'])) {
    const { resourceVersion } = object['metadata'];
    if (typeof resourceVersion === 'string') {
      if (type === 'BOOKMARK') return { type, resourceVersion };
      if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED')
        return { type, object: object as unknown as Stored<T> };
    }
  }
  throw new StatusError(500, 'InternalError', 'the server sent an event that is none', facts);
}
