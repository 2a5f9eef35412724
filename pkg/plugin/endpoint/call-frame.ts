import { isJsonObject, type JsonObject } from '#pkg/apimachinery/index';

const lineFeed = 10;

/** What goes between API server and host, either way: one line of JSON, and after it bytes of any kind. */
export interface CallFrame {
  head: JsonObject;
  /** Empty where there are none. */
  rest: Buffer;
}

/** JSON has no line feeds of its own. */
export function formatFrame(head: object, rest: Uint8Array | string = ''): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), typeof rest === 'string' ? Buffer.from(rest) : rest]);
}

export function parseFrame(bytes: Buffer): CallFrame | undefined {
  const end = bytes.indexOf(lineFeed);
  if (end === -1) return undefined;
  try {
    const head: unknown = JSON.parse(bytes.toString('utf8', 0, end));
    return isJsonObject(head) ? { head, rest: bytes.subarray(end + 1) } : undefined;
  } catch {
    return undefined;
  }
}
