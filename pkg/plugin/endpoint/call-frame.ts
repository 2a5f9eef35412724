import { isJsonObject, type JsonObject } from '#pkg/apimachinery/index';

const lineFeed = 10;

/** One message between API server and host, in either direction: a line of JSON, then any bytes. */
export interface CallFrame {
  head: JsonObject;
  /** Empty if there are none. */
  rest: Buffer;
}

/** JSON contains no unescaped line feed. */
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
