/** The parts of a request that a signature may cover. Strings hold one byte per character, as Node gives them. */
export interface SignedMessage {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /**
   * Scheme and authority as the client sees them, in lower case and without a default port:
   * `https://access.example.com`.
   */
  readonly origin: string;
  /** Alternating names and values, as sent. */
  readonly rawHeaders: readonly string[];
}

/** Header values by lower-case name; values of a repeated header are joined by `, `, and none is left out. */
export function headerValues({ rawHeaders }: SignedMessage): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const before = values.get(name);
    values.set(name, before === undefined ? rawHeaders[i + 1]! : `${before}, ${rawHeaders[i + 1]!}`);
  }
  return values;
}

/** The bytes that were signed; undefined if a value contains a line break. */
export function joinLines(lines: readonly string[]): Buffer | undefined {
  return lines.some((line) => /[\r\n]/.test(line)) ? undefined : Buffer.from(lines.join('\n'), 'latin1');
}
