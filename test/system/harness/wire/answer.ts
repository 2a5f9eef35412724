/** One response as received. */
export interface Answer {
  status: number;
  /** Lower-case names; values in order of arrival. */
  headers: ReadonlyMap<string, readonly string[]>;
  body: Buffer;
  /** The body is complete; false for the start of a stream. */
  complete: boolean;
}

export function headerOf({ headers }: Answer, name: string): string | undefined {
  return headers.get(name)?.[0];
}
