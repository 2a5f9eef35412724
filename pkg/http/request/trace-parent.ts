const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const allZero = /^0+$/;

/**
 * The trace id from the `traceparent` header; undefined if it is missing or malformed. A newer version may have more
 * fields. Source: W3C Trace Context, 3.2.
 */
export function traceIdOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || header.length > 256) return undefined;
  const match = form.exec(header);
  if (match === null) return undefined;
  const [, version, traceId, parentId, rest] = match;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  return allZero.test(traceId!) || allZero.test(parentId!) ? undefined : traceId;
}
