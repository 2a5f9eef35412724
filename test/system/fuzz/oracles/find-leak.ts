import type { Answer } from '../../harness/wire/answer.ts';

/** Signs of the implementation in a response: stacks, engine messages, SQL, files. No case sends any of them. */
const traces: readonly RegExp[] = [
  /\bat [^\s"]{1,100} \((?:file|node|\/)[^)\n]{0,200}:\d+:\d+\)/,
  /node:internal|node_modules|file:\/\/\//,
  /\/(?:pkg|dist|cmd)\/[a-z-]+\/[^\s"]{1,100}\.[jt]s\b/,
  /Cannot read propert|is not a function|is not iterable|is not defined|Maximum call stack|Invalid time value|Invalid array length|Invalid string length|Cannot convert undefined|\[object Object\]/,
  /\bplatform\.(?:m_\d|change_log|models|meta|revision|idempotency)/,
  /\baccess\.(?:users|principals|organizations|sessions|bearer_tokens|access_keys|private_tokens|personal_tokens|key_checks|login_|operate_logs|throttles|signature_uses|\w+_role_bindings)|\$argon2/,
  /\bSELECT\b.{1,200}\bFROM\b|\bINSERT INTO\b|syntax error at or near|violates (?:unique|check|foreign|not-null)|invalid input syntax|invalid byte sequence|deadlock detected|canceling statement|out of range for type|relation "[^"]*" does not exist|bind message|prepared statement/,
  /ECONNRE|EPIPE|ENOENT|ERR_[A-Z]+_[A-Z]+/,
];
/** A response of megabytes is a stored object; its start is enough. */
const looked = 64 * 1024;

/** The first text in a response that reveals the implementation, or is a secret. */
export function findLeak({ body, headers }: Answer, secrets: readonly string[]): string | undefined {
  const text = `${[...headers.values()].flat().join('\n')}\n${body.toString('utf8', 0, looked)}`;
  if (secrets.some((secret) => text.includes(secret))) return 'a secret';
  for (const trace of traces) {
    const found = trace.exec(text);
    if (found !== null) return found[0].slice(0, 200);
  }
  return undefined;
}
