import { validateHeaderValue } from 'node:http';
import type { Credentials, ServerEndpoint } from './server-endpoint.ts';

/**
 * The user to impersonate; the client's own user needs the right to `impersonate`. Source: Kubernetes, user
 * impersonation.
 */
export interface ImpersonatedUser {
  user: string;
  /** The server adds `system:authenticated`. */
  groups?: readonly string[];
}

/** Wraps the endpoint to impersonate a user. @throws TypeError for names that are invalid in a header */
export function impersonatingEndpoint(
  endpoint: ServerEndpoint,
  { user, groups = [] }: ImpersonatedUser,
): ServerEndpoint {
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
    credentialsRefused: () => endpoint.credentialsRefused(),
  };
}

/** Encodes as UTF-8. Surrounding white space would be trimmed in transit, which would name another user. */
function headerText(name: string): string {
  if (name === '' || name.trim() !== name)
    throw new TypeError('the name of a user or group to act as has no white space around it');
  const text = Buffer.from(name).toString('latin1');
  validateHeaderValue('Impersonate-User', text);
  return text;
}
