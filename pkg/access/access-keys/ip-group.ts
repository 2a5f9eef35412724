import { BlockList, isIP } from 'node:net';

/** Any client address. */
export const anyAddress = '*';

/**
 * May a client at this address use the key? Entries are `*`, an address, a range in CIDR notation, or `<first>-<last>`,
 * for IPv4 and IPv6.
 */
export function allowsAddress(ipGroup: readonly string[], address: string): boolean {
  if (ipGroup.includes(anyAddress)) return true;
  const family = isIP(address);
  if (family === 0) return false;
  const list = new BlockList();
  for (const entry of ipGroup) addEntry(list, entry);
  return list.check(address, nameOf(family));
}

/** Is it an entry of an address list? */
export function isIpGroupEntry(text: string): boolean {
  return text === anyAddress || addEntry(new BlockList(), text);
}

/** False for an invalid entry. */
function addEntry(list: BlockList, entry: string): boolean {
  const [, first = '', separator, rest = ''] =
    /^([\da-fA-F.:]{1,45})(?:([/-])([\da-fA-F.:]{1,45}))?$/.exec(entry) ?? [];
  const family = isIP(first);
  if (family === 0) return false;
  if (separator === undefined) list.addAddress(first, nameOf(family));
  else if (separator === '-') return addRange(list, first, rest);
  else {
    const bits = /^\d{1,3}$/.test(rest) ? Number(rest) : Number.NaN;
    if (!(bits <= (family === 4 ? 32 : 128))) return false;
    list.addSubnet(first, bits, nameOf(family));
  }
  return true;
}

function addRange(list: BlockList, first: string, last: string): boolean {
  const family = isIP(first);
  if (isIP(last) !== family) return false;
  try {
    list.addRange(first, last, nameOf(family));
    return true;
  } catch {
    // The last address is before the first.
    return false;
  }
}

const nameOf = (family: number): 'ipv4' | 'ipv6' => (family === 4 ? 'ipv4' : 'ipv6');
