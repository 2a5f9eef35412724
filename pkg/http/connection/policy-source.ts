/** Only names and addresses that a content security policy can name: neither IPv6, nor a host that a client made up. */
const namedOrigin = /^https?:\/\/[a-z\d.-]+(?::\d+)?$/;

/** The files below a path of an origin, for a content security policy; where it cannot name the origin, all of them. */
export function policySource(origin: string, path: string): string {
  return namedOrigin.test(origin) ? `${origin}${path}` : "'self'";
}
