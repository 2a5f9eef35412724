import { validateHeaderValue } from 'node:http';
import type { Credentials, Endpoint } from './endpoint.ts';

/**
 * As whom a client asks, where that is not whoever its credentials are of; they need the right to `impersonate`.
 * Source: Kubernetes, user impersonation.
 */
export interface ActAs {
  user: string;
  /** The server adds `system:authenticated`. */
  groups?: readonly string[];
}

/** The endpoint as somebody else. @throws TypeError for names that no header can carry */
export function actingAs(endpoint: Endpoint, { user, groups = [] }: ActAs): Endpoint {
  const named = {
    'impersonate-user': headerText(user),
    ...(groups.length === 0 ? {} : { 'impersonate-group': groups.map(headerText) }),
  };
  return {
    url: endpoint.url,
    credentials: async (): Promise<Credentials> => {
      const { headers, ...rest } = await endpoint.credentials();
      return { ...rest, headers: { ...headers, ...named } };
    },
    refused: () => endpoint.refused(),
  };
}

/** As bytes of UTF-8. White space around it would be lost on the way, and name another. */
function headerText(name: string): string {
  if (name === '' || name.trim() !== name)
    throw new TypeError('whom a client acts as is named without white space around it');
  const text = Buffer.from(name).toString('latin1');
  validateHeaderValue('Impersonate-User', text);
  return text;
}
