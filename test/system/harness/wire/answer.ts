/** One answer as it came over the wire. */
export interface Answer {
  status: number;
  /** Lower-case names; values in the order they came. */
  headers: ReadonlyMap<string, readonly string[]>;
  body: Buffer;
  /** The body is whole; a stream's beginning is not. */
  complete: boolean;
}

export function headerOf({ headers }: Answer, name: string): string | undefined {
  return headers.get(name)?.[0];
}
