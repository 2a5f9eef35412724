/** Of one connection, not of a message. Source: RFC 9110, 7.6.1. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** A sender cannot make a forwarder drop these by naming them in `Connection`: the message would be another one. */
const kept: ReadonlySet<string> = new Set(['authorization', 'content-length', 'cookie', 'host', 'set-cookie']);

/**
 * The headers of a message that go on to the next server or client: names and values in turn, each as it was sent.
 * Leaves out those of the connection, also those that `Connection` names, and `others`, in lower case.
 */
export function endToEndHeaders(rawHeaders: readonly string[], others: readonly string[] = []): string[] {
  const dropped = new Set([...hopByHop, ...others]);
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() !== 'connection') continue;
    for (const named of rawHeaders[i + 1]!.toLowerCase().split(',')) {
      const name = named.trim();
      if (!kept.has(name)) dropped.add(name);
    }
  }
  const headers: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (!dropped.has(rawHeaders[i]!.toLowerCase())) headers.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  return headers;
}
