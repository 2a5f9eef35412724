import { isIPv6, type BlockList } from 'node:net';
import { newAddressList } from '#pkg/http/index';

export interface WebhookPolicyOptions {
  /** Hosts that webhooks may have: see `isWebhookHost`. Default none. */
  allowedHosts?: readonly string[];
  /** Networks that are not public, in which webhooks may be: `10.0.0.0/8`. Default none. */
  allowedNetworks?: readonly string[];
  /** Time of one call, from the name's lookup to the last byte of the answer. Milliseconds, default 10 000. */
  timeoutMs?: number;
}

/** Which webhooks the administrator allows, so that the author of a definition cannot make the server call anything. */
export class WebhookPolicy {
  readonly timeoutMs: number;
  readonly #hosts: readonly { name: string; port: string }[];
  readonly #networks: BlockList;

  constructor({ allowedHosts = [], allowedNetworks = [], timeoutMs = 10_000 }: WebhookPolicyOptions = {}) {
    this.timeoutMs = timeoutMs;
    this.#hosts = allowedHosts.map(splitHost);
    this.#networks = newAddressList(allowedNetworks);
  }

  /** May a webhook have this host and port? */
  allowsHost({ hostname, port }: URL): boolean {
    return this.#hosts.some(
      (host) =>
        host.port === (port === '' ? '443' : port) &&
        (host.name.startsWith('*.') ? hostname.endsWith(host.name.slice(1)) : hostname === host.name),
    );
  }

  /** May a webhook be at this address? Asked for each address of its host, right before it is connected to. */
  allowsAddress(address: string): boolean {
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    return !notPublic.check(address, family) || this.#networks.check(address, family);
  }
}

/** `hooks.example.com`, which means port 443, `hooks.example.com:8443`, `*.example.com`, `10.0.0.1:8443`, `[::1]:8443`. */
export function isWebhookHost(text: string): boolean {
  const { name, port } = splitHost(text);
  const bare = name.startsWith('*.') ? name.slice(2) : name;
  const url = `https://${bare}:${port}`;
  return (
    /^[a-z0-9.\-_[\]:]+$/.test(bare) && /^\d{1,5}$/.test(port) && URL.canParse(url) && new URL(url).hostname === bare
  );
}

function splitHost(text: string): { name: string; port: string } {
  const [, name = '', port = '443'] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(text.toLowerCase()) ?? [];
  return { name, port };
}

/** Addresses that are not of the public internet. Source: IANA's registries of special-purpose addresses. */
const notPublic = newAddressList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]);
