/** A request, as far as a signature may cover it. Texts hold one character a byte, as Node gives them. */
export interface SignedMessage {
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  /**
   * Scheme and authority as the client sees them, in lower case and without a default port:
   * `https://access.example.com`.
   */
  readonly origin: string;
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[];
}

/** Header values by lower-case name; what was sent several times is joined by `, `, and nothing is left out. */
export function headerValues({ rawHeaders }: SignedMessage): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const before = values.get(name);
    values.set(name, before === undefined ? rawHeaders[i + 1]! : `${before}, ${rawHeaders[i + 1]!}`);
  }
  return values;
}

/** The bytes that were signed; undefined where a value could pass for a line of its own. */
export function joinLines(lines: readonly string[]): Buffer | undefined {
  return lines.some((line) => /[\r\n]/.test(line)) ? undefined : Buffer.from(lines.join('\n'), 'latin1');
}
