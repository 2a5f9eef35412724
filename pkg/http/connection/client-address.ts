import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6, type Socket } from 'node:net';
import { forwardedRequestOf } from './forwarded-request.ts';

/** The proxies whose X-Forwarded- headers are trusted, by address or range (`10.0.0.0/8`). */
export class TrustedProxies {
  readonly #list: BlockList;
  readonly #isEmpty: boolean;

  /** Throws if an entry is neither an address nor a range. */
  constructor(ranges: readonly string[]) {
    this.#isEmpty = ranges.length === 0;
    this.#list = newAddressList(ranges);
  }

  /**
   * The client's address: the peer of the connection or, behind trusted proxies, the last address in X-Forwarded-For
   * that is no trusted proxy. An IPv4 address within IPv6 is returned as IPv4.
   */
  addressOf(request: IncomingMessage): string {
    const told = forwardedRequestOf(request);
    if (told !== undefined) return told.clientAddress;
    const peer = peerAddress(request.socket);
    if (!this.trusts(peer)) return peer;
    let client = peer;
    const hops = forwarded(request, 'x-forwarded-for');
    for (let i = hops.length - 1; i >= 0; i -= 1) {
      const hop = plain(hops[i]!);
      // Entries to the left of an invalid address cannot be trusted.
      if (isIP(hop) === 0) break;
      client = hop;
      if (!this.trusts(hop)) break;
    }
    return client;
  }

  /**
   * `https://access.example.com`, as the client sees this server; behind a trusted proxy from X-Forwarded-Proto and
   * X-Forwarded-Host.
   */
  originOf(request: IncomingMessage): string {
    const told = forwardedRequestOf(request);
    if (told !== undefined) return told.origin;
    const isForwarded = this.trusts(peerAddress(request.socket));
    const isTls = (request.socket as { encrypted?: boolean }).encrypted === true;
    const scheme = isForwarded ? forwarded(request, 'x-forwarded-proto').at(-1)?.toLowerCase() : undefined;
    const host = isForwarded ? forwarded(request, 'x-forwarded-host').at(-1) : undefined;
    const origin = `${scheme === 'https' || scheme === 'http' ? scheme : isTls ? 'https' : 'http'}://${host ?? request.headers.host ?? 'localhost'}`;
    return URL.canParse(origin) ? new URL(origin).origin : 'http://localhost';
  }

  /** Whether the address is that of a trusted proxy. */
  trusts(address: string): boolean {
    return !this.#isEmpty && isIP(address) !== 0 && this.#list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }
}

/** Throws if an entry is neither an address nor a range. */
export function newAddressList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) addRange(list, range);
  return list;
}

/** Whether the text is an address or a range of addresses. */
export function isAddressRange(text: string): boolean {
  try {
    newAddressList([text]);
    return true;
  } catch {
    return false;
  }
}

function addRange(list: BlockList, range: string): void {
  const [address = '', bits, more] = range.split('/');
  const family = isIP(address);
  const prefix = bits === undefined ? (family === 6 ? 128 : 32) : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (family === 0 || more !== undefined || prefix < 0 || prefix > (family === 6 ? 128 : 32))
    throw new Error(`not an address or a range of addresses: ${JSON.stringify(range)}`);
  list.addSubnet(address, prefix, family === 6 ? 'ipv6' : 'ipv4');
}

function forwarded(
  request: IncomingMessage,
  name: 'x-forwarded-for' | 'x-forwarded-proto' | 'x-forwarded-host',
): string[] {
  const value = request.headers[name];
  const text = Array.isArray(value) ? value.join(',') : (value ?? '');
  // Proxies append: a client that sends many entries of its own cannot push out theirs.
  return text
    .split(',')
    .slice(-256)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** The address of the other end of a connection; an IPv4 address within IPv6 is returned as IPv4. */
export function peerAddress(socket: Pick<Socket, 'remoteAddress'>): string {
  return plain(socket.remoteAddress ?? '');
}

/** The address without brackets, port and zone; an IPv4 address within IPv6 as IPv4. */
function plain(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1];
  const address = (bracketed ?? text).replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1').replace(/%.*$/, '');
  return address.replace(/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i, '$1');
}

/** The key that limits count a client by: an IPv4 address itself; of IPv6 the /64, which belongs to one customer. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  if (tail !== undefined) {
    const rest = tail.split(':').filter((group) => group !== '');
    while (groups.length + rest.length < 8) groups.push('0');
    groups.push(...rest);
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
